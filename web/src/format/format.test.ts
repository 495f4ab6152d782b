import { describe, expect, it } from "vitest";
import { join, parent, shortened, shortId, splitLocation } from "./path";
import { ago, clock, endOf, instant, setZone, startOf } from "./time";
import { parseRate, percent, rate, share } from "./units";

describe("units", () => {
  it("what is written can be read back", () => {
    for (const value of [1, 999, 3_000_000_000, 25_000_000_000]) expect(parseRate(rate(value))).toBe(value);
  });

  it("a share says 100 only when all is there", () => {
    expect(percent(999_999, 1_000_000)).toBe("99 %");
    expect(share(5, 5)).toBe(100);
    expect(share(0, 0)).toBe(0);
  });
});

describe("times", () => {
  it("a time in UTC says so", () => expect(instant("2026-11-25T14:30:00.123Z", "utc")).toBe("2026-11-25 14:30:00 UTC"));
  it("what is recent says how long ago it was, and what is old does not", () => {
    const now = Date.parse("2026-11-22T12:00:00Z");
    expect(["2026-11-22T11:59:30Z", "2026-11-22T11:57:10Z", "2026-11-21T09:59:00Z", "2026-11-19T12:00:00Z"].map((at) => ago(at, now))).toEqual(["just now", "2 min ago", "1 d ago", ""]);
  });
  it("a day begins and ends in the zone that is chosen", () => {
    expect([startOf("2026-11-30"), endOf("2026-11-30")]).toEqual(["2026-11-30T00:00:00.000Z", "2026-12-01T00:00:00.000Z"]);
    setZone("local");
    expect(startOf("2026-11-30")).toBe(new Date(2026, 10, 30).toISOString());
    setZone("utc");
  });
  it("a local time says its offset", () => expect(instant("2026-11-25T14:30:00Z", "local")).toMatch(/ [+-]\d\d:\d\d$/));
  it("what is no time is shown as it is", () => expect(instant("soon", "utc")).toBe("soon"));
  it("a clock is the time of day", () => expect(clock(Date.UTC(2026, 0, 1, 4, 5, 6), "utc")).toBe("04:05:06"));
});

describe("paths with odd bytes", () => {
  it("ids and digests are cut to what tells them apart, and other words are not", () => {
    expect(shortId("pn_e239032552b01c40839ab54f70e64f9e")).toBe("pn_e23903255…");
    expect(shortId("ed25519:RdYDyqiuNlhuwVUWum6eEwokRdYDyqiuNlhuwVUWum6")).toBe("ed25519:RdYD…");
    expect(shortId("a sentence of more than thirty-two letters")).toBe("a sentence of more than thirty-two letters");
  });
  it("a long path keeps its end", () => {
    const cut = shortened(`/a/${"deep/".repeat(40)}last.mrc`, 40);
    expect(Array.from(cut)).toHaveLength(40);
    expect(cut.endsWith("last.mrc")).toBe(true);
  });
  it("characters outside the basic plane are not cut in half", () => {
    expect(shortened("😀".repeat(50), 11)).toBe(`${"😀".repeat(3)}…${"😀".repeat(7)}`);
  });
  it("folders are walked up and down", () => {
    expect(parent("/a/b/")).toBe("/a");
    expect(parent("/")).toBe("/");
    expect(join("/", "a b")).toBe("/a b");
  });
  it("a location has an endpoint and a path, whatever colons follow", () => {
    expect(splitLocation("krios1:/a:b")).toEqual({ endpoint: "krios1", path: "/a:b" });
    expect(splitLocation("/a")).toBeNull();
  });
});
