"""f-DP: trade-off functions as values. `TradeOff` is the one public name; docs/f-dp.md is the page."""
