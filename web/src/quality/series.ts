/** What a page has seen of the shares of links since it was opened; bounded. */

import type { Qos } from "../api/schema";

export interface Taken {
  atMs: number;
  /** By link and direction, what each class takes. */
  of: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export const MOST_SEEN = 400;

export const wayKey = (link: string, way: "out" | "in"): string => `${link} ${way}`;

export function grown(series: readonly Taken[], qos: Qos, atMs: number): readonly Taken[] {
  const last = series.at(-1);
  if (last !== undefined && atMs <= last.atMs) return series;
  const of = new Map(qos.use.map(({ link, way, transfers }) => [wayKey(link, way), byClass(transfers)]));
  return [...series, { atMs, of }].slice(-MOST_SEEN);
}

function byClass(transfers: Qos["use"][number]["transfers"]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { qos_class: name, actual_bps: bps } of transfers) sums.set(name, (sums.get(name) ?? 0) + bps);
  return sums;
}

/** Columns of a chart in which classes stand on each other: times, and from the top layer to the lowest what it reaches to. */
export function stacked(series: readonly Taken[], key: string, order: readonly string[]): { names: readonly string[]; columns: number[][] } {
  const names = order.filter((name) => series.some(({ of }) => (of.get(key)?.get(name) ?? 0) > 0));
  const tops = names.map((_, index) =>
    series.map(({ of }) => names.slice(0, index + 1).reduce((sum, name) => sum + (of.get(key)?.get(name) ?? 0), 0)),
  );
  return { names: names.toReversed(), columns: [series.map(({ atMs }) => atMs / 1000), ...tops.toReversed()] };
}
