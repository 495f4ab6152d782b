import { describe, expect, it } from "vitest";
import { grown, MOST_POINTS, whole } from "./series";
import { EventParser } from "./sse";

describe("server-sent events", () => {
  const stream = "event: progress\ndata: {\"a\":1}\n\n: still here\n\nid: 7\nevent: paused\r\ndata: one\ndata: two\n\n";
  const wanted = [
    { event: "progress", data: '{"a":1}', id: null },
    { event: "paused", data: "one\ntwo", id: "7" },
  ];
  it("are the same wherever the stream is cut", () => {
    for (let cut = 0; cut <= stream.length; cut += 1) {
      const parser = new EventParser();
      const got = [...parser.feed(stream.slice(0, cut)), ...parser.feed(stream.slice(cut))];
      expect(got).toEqual(wanted);
    }
  });
  it("that never end are given up", () => {
    expect(() => new EventParser().feed("x".repeat(2_000_001))).toThrow();
  });
});

describe("the series of a transfer", () => {
  const progress = (seconds: number) => ({
    files_total: 1, files_done: 0, files_failed: 0, files_failed_for_good: 0, files_identical: 0, bytes_total: 10, bytes_received: 0, bytes_durable: seconds, bytes_failed: 0, resent_bytes: 0, sources_kept: 0, deletes_total: 0, deleted: 0, sources_deleted: 0, deleted_to_trash: false,
    rate_bps: 8, streams: 1, limiter: "", eta_s: null, eta_low_s: null, eta_high_s: null, at: new Date(seconds * 1000).toISOString(),
  });
  it("holds the newest points only, in order", () => {
    let series = grown([], progress(0));
    for (let second = 1; second < MOST_POINTS + 50; second += 1) series = grown(series, progress(second));
    expect(series).toHaveLength(MOST_POINTS);
    expect(series.at(-1)?.durable).toBe(MOST_POINTS + 49);
    expect(grown(series, progress(3))).toBe(series);
  });
  const kept = {
    step_s: 1,
    samples: [0, 1, 2].map((second) => ({ at: new Date(second * 1000).toISOString(), bytes: 10, files: 1, rate_bps: 80 })),
  };
  it("of one that has ended is what the service has kept", () => {
    expect(whole(kept, []).map(({ atMs, bps, durable }) => [atMs, bps, durable])).toEqual([[0, 80, 10], [1000, 80, 20], [2000, 80, 30]]);
    expect(whole(undefined, [])).toEqual([]);
  });
  it("of one that runs goes on with what the page sees, in place of the last second, which is not whole", () => {
    const seen = [500, 1900, 2200, 3000].map((atMs) => ({ atMs, bps: 8, durable: 99 }));
    expect(whole(kept, seen).map(({ atMs }) => atMs)).toEqual([0, 1000, 2200, 3000]);
    expect(whole(undefined, seen)).toBe(seen);
  });
});
