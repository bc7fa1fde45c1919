/** The chart of docs/performance.md: one curve for reservations held, one for sessions finished. Both should be flat. */

import type { Curves, Point } from "./flatness.ts";

const WIDTH = 720;
const HEIGHT = 360;
const BOX = { left: 70, right: 20, top: 50, bottom: 60 };
const COLOURS = { held: "#c2410c", finished: "#1d4ed8" };

export function drawChart({ held, finished }: Curves): string {
  const points = [...held, ...finished];
  const most = Math.max(1, ...points.map(({ at }) => at));
  const top = roundUp(Math.max(1, ...points.map(({ rate }) => rate)) * 1.1);
  const x = (at: number) => BOX.left + (at / most) * (WIDTH - BOX.left - BOX.right);
  const y = (rate: number) => HEIGHT - BOX.bottom - (rate / top) * (HEIGHT - BOX.top - BOX.bottom);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const at = y(part * top).toFixed(1);
    return `<line x1="${BOX.left}" y1="${at}" x2="${WIDTH - BOX.right}" y2="${at}" stroke="#ddd"/>
<text x="${BOX.left - 8}" y="${Number(at) + 4}" text-anchor="end">${count(part * top)}</text>`;
  });
  const ticks = [0, 0.25, 0.5, 0.75, 1].map(
    (part) =>
      `<text x="${x(part * most).toFixed(1)}" y="${HEIGHT - BOX.bottom + 18}" text-anchor="middle">${count(part * most)}</text>`,
  );
  const curve = (of: readonly Point[], colour: string) =>
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${of.map(({ at, rate }) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`).join(" ")}"/>
${of.map(({ at, rate }) => `<circle cx="${x(at).toFixed(1)}" cy="${y(rate).toFixed(1)}" r="3.5" fill="${colour}"/>`).join("\n")}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">
<title>POST /spawn throughput against reservations held and sessions finished</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${BOX.left}" y="22" font-size="15">POST /spawn, requests a second at 16 connections</text>
<text x="${BOX.left}" y="40" fill="${COLOURS.held}">● reservations held by the asking session</text>
<text x="${BOX.left + 280}" y="40" fill="${COLOURS.finished}">● sessions that have come and gone</text>
${grid.join("\n")}
${ticks.join("\n")}
<text x="${(WIDTH + BOX.left - BOX.right) / 2}" y="${HEIGHT - 18}" text-anchor="middle">reservations held, sessions finished</text>
${curve(held, COLOURS.held)}
${curve(finished, COLOURS.finished)}
</svg>
`;
}

function roundUp(value: number): number {
  const step = 10 ** Math.floor(Math.log10(value));
  return Math.ceil(value / step) * step;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
