/** What a page has seen of a transfer's rate since it was opened; bounded. */

import type { Progress, Throughput } from "../api/schema";

export interface Point {
  atMs: number;
  bps: number;
  durable: number;
}

export const MOST_POINTS = 900;

export function grown(series: readonly Point[], progress: Progress): readonly Point[] {
  if (progress.at == null) return series;
  const atMs = new Date(progress.at).getTime();
  const last = series.at(-1);
  if (last !== undefined && atMs <= last.atMs) return series;
  return [...series, { atMs, bps: progress.rate_bps, durable: progress.bytes_durable }].slice(-MOST_POINTS);
}

/** What the service has kept, then what the page has seen since; its newest sample is not whole yet where that goes on. */
export function whole(kept: Throughput | undefined, seen: readonly Point[]): readonly Point[] {
  let durable = 0;
  const before = (kept?.samples ?? []).map(({ at, bytes, rate_bps: bps }) => {
    durable += bytes;
    return { atMs: new Date(at).getTime(), bps, durable };
  });
  if (seen.length > 0) before.pop();
  const last = before.at(-1);
  if (last === undefined) return seen;
  const newer = seen.filter(({ atMs }) => atMs >= last.atMs + (kept?.step_s ?? 1) * 1000);
  return [...before, ...newer];
}
