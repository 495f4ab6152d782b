import { describe, expect, it } from "vitest";
import type { Qos, TransferShare } from "../api/schema";
import { grown, MOST_SEEN, stacked, wayKey, type Taken } from "./series";

function share(qos_class: string, actual_bps: number): TransferShare {
  return { transfer: "", qos_class, links: ["uplink"], weight: 1, needed_bps: 0, guaranteed_bps: 0, kept_later: false, entitled_bps: null, ceiling_link: "", actual_bps };
}

function seen(...transfers: TransferShare[]): Qos {
  const document = { links: [], classes: [], calendars: [], pairs: [], tuning: {} };
  return { version: "1", document, calendars_open: {}, given_by: {}, unknown_nodes: [],
    use: [{ link: "uplink", way: "out", transfers }] };
}

describe("what a page has seen of shares", () => {
  it("sums the transfers of a class, and keeps no more than it shows", () => {
    let series: readonly Taken[] = [];
    for (let at = 1; at <= MOST_SEEN + 5; at += 1) series = grown(series, seen(share("bulk", 2), share("bulk", 3)), at);
    expect(series).toHaveLength(MOST_SEEN);
    expect(series.at(-1)?.of.get(wayKey("uplink", "out"))?.get("bulk")).toBe(5);
    expect(grown(series, seen(), MOST_SEEN + 5)).toBe(series);
  });

  it("puts classes on each other, the lowest at the bottom, and leaves out those that took nothing", () => {
    const series = grown(grown([], seen(share("bulk", 2), share("priority", 3)), 1000), seen(share("priority", 4)), 2000);
    const { names, columns } = stacked(series, wayKey("uplink", "out"), ["background", "bulk", "priority"]);
    expect(names).toEqual(["priority", "bulk"]);
    expect(columns).toEqual([
      [1, 2],
      [5, 4],
      [2, 0],
    ]);
    expect(stacked(series, wayKey("uplink", "in"), ["bulk"]).names).toEqual([]);
  });
});
