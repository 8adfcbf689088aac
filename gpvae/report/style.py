"""How the page looks: on screens of any width, light or dark, and on paper."""

from gpvae.report.heat_maps import shade_rules

_RULES = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c1e21; --soft: #5a6069; --line: #d5d9de; --stripe: #f4f6f8;
  --link: #0b5cad; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.4rem; margin: 3rem 0 .5rem; border-bottom: 2px solid var(--line); padding-bottom: .2rem; }
h3 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.75rem 0 .4rem; }
p, li { max-width: 50rem; }
a { color: var(--link); }
small, .soft, caption, figcaption { color: var(--soft); font-size: .85rem; font-weight: normal; }
.scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
caption { text-align: left; padding-bottom: .35rem; }
caption span { display: block; position: sticky; left: 0; width: fit-content;
  max-width: min(50rem, calc(100vw - 2.5rem)); }
th, td { padding: .25rem .45rem; text-align: right; white-space: nowrap; vertical-align: top; }
thead th { border-bottom: 1px solid var(--line); vertical-align: bottom; }
thead tr:first-child th[colspan] { text-align: center; }
th small { display: block; }
tbody th, thead tr:first-child th:first-child { text-align: left; }
tbody th { font-weight: 600; white-space: normal; min-width: 10rem; max-width: 18rem; }
tbody th a { color: inherit; text-decoration: underline dotted; text-underline-offset: .2em; }
tbody tr { background: var(--page); }
tbody tr:nth-child(even) { background: var(--stripe); }
tbody th, thead tr:first-child th:first-child { position: sticky; left: 0; background: inherit; }
thead { background: var(--page); }
.maps { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.maps > .scroll { max-width: 100%; }
.maps table { font-size: .72rem; }
.maps caption span { max-width: min(24rem, calc(100vw - 2.5rem)); }
.maps tbody th, .maps th, .maps td { max-width: none; min-width: 2.5rem; padding: .18rem .3rem;
  border: 1px solid var(--page); }
.maps tbody tr { background: var(--page); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16.5rem), 1fr)); gap: 1rem;
  align-items: end; }
figure { margin: 0; max-width: 34rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.25rem; }
.pictures figure { max-width: 42rem; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 3px; }
.charts svg { display: block; width: 100%; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
.legend { list-style: none; padding: 0; margin: .5rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; }
.legend svg { vertical-align: middle; margin-right: .4rem; }
nav ul { margin: .25rem 0; padding-left: 1.2rem; }
pre { overflow-x: auto; background: var(--stripe); padding: .75rem; font-size: .8rem; line-height: 1.35; }
pre { scroll-margin-top: 3rem; }
summary { cursor: pointer; padding: .2rem 0; }
@media (max-width: 40rem) {
  tbody th { min-width: 6rem; max-width: 9rem; }
  .maps table { font-size: .62rem; }
  .maps tbody th, .maps th, .maps td { min-width: 0; padding: .2rem .1rem; }
}
"""
_DARK = """
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #15171a; --ink: #e4e6e9; --soft: #a4abb4; --line: #3a4048; --stripe: #1e2126; --link: #7db7f5; }
  img { filter: brightness(.88); }
}
"""
_PAPER = """
@media print {
  :root { color-scheme: light; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  section + section > h2, .group + .group { break-before: page; }
  h2, h3, h4, summary, .legend { break-after: avoid; }
  details:has(> .maps) { break-inside: avoid; }
  tbody th a { text-decoration: none; }
  nav, tr, figure, .scroll { break-inside: avoid; }
  table small { font-size: inherit; }
  .pictures { grid-template-columns: 1fr 1fr; }
  .scroll, pre { overflow: visible; }
  caption span, th { position: static !important; max-width: none; }
  .scroll table { max-width: 100%; font-size: 7.5pt; }
  th, td { white-space: normal; padding: .15rem .35rem; }
  .maps table { font-size: 6pt; }
  .maps th, .maps td { min-width: 0; padding: .1rem .2rem; }
  pre { white-space: pre-wrap; font-size: 6.5pt; columns: 2; }
  details::details-content { content-visibility: visible; block-size: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def style_sheet() -> str:
    """All rules."""
    return "\n".join([_RULES, shade_rules(), _DARK, _PAPER])
