"""The formulas of the papers: each is that of the page of its name, which has claim, arguments and units."""
