"""The style of a report's page. Okabe and Ito's colours; contrast at least 4.5 in light and dark."""

CSS = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1f2328; --faint: #57606a; --rule: #d8dee4; --card: #f6f8fa;
  --line-1: #0072B2; --line-2: #B84A00; --line-3: #007A5A;
  --held: #006B4D; --declared: #005A8E; --unknown: #57606a; --violated: #B3261E; --alert: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --ink: #e6e9ee; --faint: #a3acb8; --rule: #343b45; --card: #1c2128;
    --line-1: #56B4E9; --line-2: #F0955C; --line-3: #4CC9A0;
    --held: #4CC9A0; --declared: #56B4E9; --unknown: #a3acb8; --violated: #FF8A80; --alert: #3a1d1b;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif;
}
main { max-width: 64rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 1rem; }
h2 {
  font-size: 1.2rem; margin: 2.5rem 0 .75rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--rule);
}
p { margin: .6rem 0; max-width: 46rem; }
.statement {
  font-size: 1.1rem; max-width: none; margin: 1rem 0 1.25rem; padding: 1rem 1.25rem;
  background: var(--card); border-left: 4px solid var(--line-1); border-radius: 0 6px 6px 0;
}
.warning {
  margin: 1rem 0; padding: .5rem 1.25rem; background: var(--alert);
  border: 2px solid var(--violated); border-radius: 6px;
}
.warning p { max-width: none; }
.warning p:first-child { font-weight: 700; color: var(--violated); }
.facts {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 0;
}
.facts div { border: 1px solid var(--rule); border-radius: 6px; padding: .6rem .8rem; }
.facts dt { color: var(--faint); font-size: .82rem; }
.facts dd { margin: .1rem 0 0; font-weight: 600; font-size: 1.05rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td {
  text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0;
  border-bottom: 1px solid var(--rule); overflow-wrap: break-word;
}
thead th { color: var(--faint); font-weight: 600; font-size: .82rem; white-space: nowrap; }
tbody th { font-weight: 500; }
.aside th, .aside td { color: var(--faint); font-style: italic; }
.number { white-space: nowrap; }
.status { font-weight: 600; white-space: nowrap; }
.held { color: var(--held); } .declared { color: var(--declared); }
.unknown { color: var(--unknown); } .violated { color: var(--violated); }
.pictures {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem;
}
figure { margin: 0; }
figure svg { width: 100%; height: auto; max-width: 34rem; display: block; }
figcaption { color: var(--faint); font-size: .87rem; margin-top: .4rem; max-width: 34rem; }
ul { padding-left: 1.2rem; } li { margin: .3rem 0; max-width: 46rem; }
.tree, .tree ul { list-style: none; margin: 0; padding: 0; }
.tree li { position: relative; margin: 0; padding: .2rem 0 0 1.4rem; }
.tree > li { padding-left: 0; }
.tree span {
  display: inline-block; padding: .2rem .6rem; border: 1px solid var(--rule); border-radius: 5px;
  background: var(--card); font-size: .93rem;
}
.tree ul li::before {
  content: ""; position: absolute; left: .5rem; top: 0; height: 1.2rem; width: .9rem;
  border-left: 1.5px solid var(--faint); border-bottom: 1.5px solid var(--faint);
}
.tree ul li:not(:last-child)::after {
  content: ""; position: absolute; left: .5rem; top: 0; height: 100%;
  border-left: 1.5px solid var(--faint);
}
pre {
  background: var(--card); border: 1px solid var(--rule); border-radius: 6px; padding: .75rem 1rem;
  font: .82rem/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
@media (max-width: 44rem) {
  main { padding: 1.25rem 1rem 3rem; }
  h1 { font-size: 1.4rem; }
  .statement { font-size: 1rem; padding: .8rem 1rem; }
  .facts { grid-template-columns: 1fr 1fr; gap: .5rem; }
  table, tbody, tr, tbody th, td { display: block; width: 100%; }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { border: 1px solid var(--rule); border-radius: 6px; padding: .5rem .8rem; margin: .6rem 0; }
  th, td { border: 0; padding: .2rem 0; }
  tbody th { font-weight: 600; }
  td { display: grid; grid-template-columns: 6.5rem 1fr; gap: .5rem; }
  td::before { content: attr(data-label); color: var(--faint); font-size: .82rem; }
  td.empty { display: none; }
}
@media print {
  :root {
    --paper: #ffffff; --ink: #000000; --faint: #444444; --rule: #bbbbbb; --card: #ffffff;
    --line-1: #0072B2; --line-2: #B84A00; --line-3: #007A5A;
    --held: #006B4D; --declared: #005A8E; --unknown: #444444; --violated: #B3261E; --alert: #ffffff;
  }
  body { font-size: 10pt; }
  table, figcaption { font-size: 8.5pt; }
  .statement { font-size: 11pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  tr, figure, .facts, .statement, .warning, .tree li { break-inside: avoid; }
}
"""
