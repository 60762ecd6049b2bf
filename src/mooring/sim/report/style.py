"""The look of the report, light and dark."""

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #16202c; --soft: #5b6877; --rule: #dfe4ea; --track: #e9edf2;
  --good: #1f8a5b; --bad: #c2410c; --accent: #2563eb;
  --c0: #2563eb; --c1: #0d9488; --c2: #d97706; --c3: #9333ea; --c4: #db2777; --c5: #65a30d; --c6: #0891b2;
  --c7: #64748b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f141a; --card: #171e27; --ink: #e6ebf1; --soft: #94a3b3; --rule: #2a3441; --track: #26303c;
    --good: #4ade9d; --bad: #fb923c; --accent: #7aa7ff;
    --c0: #6ea0ff; --c1: #3ecfc0; --c2: #f5b04a; --c3: #c38bff; --c4: #f472b6; --c5: #a3d55d; --c6: #4cc9e6;
    --c7: #94a3b8;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 64px; }
header { display: flex; align-items: baseline; gap: 14px; flex-wrap: wrap; margin-bottom: 18px; }
h1 { font-size: 22px; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 15px; margin: 0 0 12px; }
h2 small, header small, .soft { color: var(--soft); font-weight: 400; font-size: 13px; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 18px 20px;
  margin-top: 16px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(122px, 1fr)); gap: 12px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; padding: 12px 16px; }
.tile b { display: block; font-size: 26px; font-weight: 650; line-height: 1.25; letter-spacing: -0.02em; }
.tile span { color: var(--soft); }
.tile.good b { color: var(--good); } .tile.bad b { color: var(--bad); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 500; font-size: 12px; padding: 4px 10px 4px 0;
  white-space: nowrap; }
td { padding: 5px 10px 5px 0; border-top: 1px solid var(--rule); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.w { white-space: nowrap; }
.nodes td:first-child { width: 26%; } .nodes td:last-child { width: 22%; }
.total { font-weight: 400; margin-top: 6px; } .total td { border: 0; }
.scroll { overflow-x: auto; }
code, .mono { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.chart { width: 100%; height: auto; display: block; margin-top: 4px; }
.chart text { fill: var(--soft); font-size: 11.5px; font-family: inherit; }
.chart .grid { stroke: var(--rule); } .chart .tick { stroke: var(--soft); }
.chart .line { fill: none; stroke: var(--c); stroke-width: 2; stroke-linejoin: round; }
.swatch { display: inline-block; width: 12px; height: 12px; border-radius: 3px; background: var(--c);
  margin-right: 8px; vertical-align: -1px; }
.bar { position: relative; display: block; height: 9px; border-radius: 5px; background: var(--track);
  min-width: 70px; margin: 6px 0 2px; }
.bar b { position: absolute; inset: 0 auto 0 0; border-radius: 5px; background: var(--c); }
.bar i { position: absolute; top: -2px; bottom: -2px; width: 2px; margin-left: -1px; background: var(--ink);
  opacity: .55; }
.num { color: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
details { border-top: 1px solid var(--rule); padding: 8px 0; }
details:first-of-type { border-top: 0; }
td > details { border: 0; padding: 0; }
summary { cursor: pointer; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.group > summary { font-weight: 600; }
.cells { display: flex; flex-wrap: wrap; gap: 2px; margin: 8px 0 10px; }
.cells i { width: 11px; height: 11px; border-radius: 2px; background:
  color-mix(in srgb, var(--c0) calc(var(--full) * 100%), var(--track)); }
.pods { columns: 3 260px; column-gap: 24px; margin: 6px 0 2px; padding: 0; list-style: none; }
.pods li { break-inside: avoid; }
.tag { display: inline-block; border: 1px solid var(--rule); border-radius: 20px; padding: 0 8px;
  font-size: 12px; color: var(--soft); font-weight: 400; margin-left: 6px; white-space: nowrap; }
.tag.bad { color: var(--bad); border-color: var(--bad); }
.reason { display: flex; gap: 12px; align-items: baseline; }
.reason::before { content: "\\25b8"; color: var(--soft); }
details[open] > .reason::before { content: "\\25be"; }
.reason .count { font-weight: 650; color: var(--bad); min-width: 34px; text-align: right;
  font-variant-numeric: tabular-nums; }
.racks { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 14px; }
.rack { border: 1px solid var(--rule); border-radius: 8px; padding: 8px 10px; min-width: 110px; }
.rack b { display: block; font-size: 12px; font-weight: 600; margin-bottom: 6px; }
.seats { display: flex; flex-wrap: wrap; gap: 2px; background: var(--track); border-radius: 4px;
  min-height: 18px; padding: 3px; margin-top: 4px; max-width: 128px; }
.seats i { width: 12px; height: 12px; border-radius: 2px; background: var(--c); }
footer { color: var(--soft); font-size: 12px; margin-top: 22px; }
"""
