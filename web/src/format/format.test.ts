import { describe, expect, it } from "vitest";
import { join, parent, shortened, shortId, splitLocation, visible } from "./path";
import { clock, duration, instant } from "./time";
import { bytes, parseBytes, parseRate, percent, rate, share } from "./units";

describe("units", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.00 kB"],
    [1_717_986_918, "1.71 GB"],
    [999_999, "999 kB"],
    [1_150_000, "1.15 MB"],
    [12_345_678_901_234, "12.3 TB"],
  ])("bytes %i are written %s", (value, text) => expect(bytes(value)).toBe(text));

  it("a rate is in bits, and says so", () => {
    expect(rate(3_000_000_000)).toBe("3.00 Gbit/s");
    expect(rate(0)).toBe("0 bit/s");
  });

  it.each([
    ["50 GB", 50_000_000_000],
    ["1.5 GiB", 1_610_612_736],
    ["10", 10],
    ["10 Gb", null],
    ["ten GB", null],
    ["-1 GB", null],
  ])("the size %s is read as %s", (text, value) => expect(parseBytes(text)).toBe(value));

  it.each([
    ["3 Gbit/s", 3_000_000_000],
    ["3 GB/s", null],
    ["3 gbit", null],
    ["0 bit/s", null],
  ])("the rate %s is read as %s: bytes are never taken for bits", (text, value) => expect(parseRate(text)).toBe(value));

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
  it("a local time says its offset", () => expect(instant("2026-11-25T14:30:00Z", "local")).toMatch(/ [+-]\d\d:\d\d$/));
  it("what is no time is shown as it is", () => expect(instant("soon", "utc")).toBe("soon"));
  it("a clock is the time of day", () => expect(clock(Date.UTC(2026, 0, 1, 4, 5, 6), "utc")).toBe("04:05:06"));
  it.each([
    [0, "0 s"],
    [0.25, "250 ms"],
    [59, "59 s"],
    [200, "3 min 20 s"],
    [7500, "2 h 5 min"],
    [3600, "1 h"],
    [273_600, "3 d 4 h"],
  ])("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));
});

describe("paths with odd bytes", () => {
  it("ids and digests are cut to what tells them apart, and other words are not", () => {
    expect(shortId("pn_e239032552b01c40839ab54f70e64f9e")).toBe("pn_e23903255…");
    expect(shortId("ed25519:RdYDyqiuNlhuwVUWum6eEwokRdYDyqiuNlhuwVUWum6")).toBe("ed25519:RdYD…");
    expect(shortId("a sentence of more than thirty-two letters")).toBe("a sentence of more than thirty-two letters");
  });
  it("characters that hide or turn text around are made visible", () => {
    expect(visible("invoice\u202Efdp.exe")).toBe("invoice<U+202E>fdp.exe");
    expect(visible("zero\u200Bwidth\u0007")).toBe("zero<U+200B>width<U+0007>");
  });
  it("escaped bytes and other scripts stay as they are", () => {
    expect(visible("r%FFn/日本語/ü")).toBe("r%FFn/日本語/ü");
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
