/** What a page has seen of a transfer's rate since it was opened; bounded. */

import type { Progress } from "../api/schema";

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
