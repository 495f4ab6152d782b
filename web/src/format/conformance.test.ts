import { describe, expect, it } from "vitest";
import cases from "../../../conformance/text/cases.json";
import { visible } from "./text";
import { duration } from "./time";
import { bytes, parseBytes, parseRate, rate } from "./units";

/** What is given and what must be answered. */
function pairs<T>(rows: readonly T[][]): [T, T][] {
  return rows.flatMap(([given, answer]) => (given === undefined || answer === undefined ? [] : [[given, answer]]));
}

describe("text and figures are as in every language of the project", () => {
  it.each(pairs(cases.visible))("invariant 4: %j is shown as %s", (given, shown) => {
    expect(visible(given)).toBe(shown);
    expect(visible(shown)).toBe(shown);
  });
  it.each(pairs(cases.sizes))("%s bytes are written %s", (given, shown) => expect(bytes(Number(given))).toBe(shown));
  it.each(pairs(cases.rates))("%s bits per second are written %s", (given, shown) => expect(rate(Number(given))).toBe(shown));
  it.each(pairs(cases.durations))("%s seconds are written %s", (given, shown) => expect(duration(Number(given))).toBe(shown));
  it.each(pairs(cases.read_sizes))("the size %j is read as %s", (given, value) => expect(parseBytes(String(given))).toBe(value));
  it.each(pairs(cases.read_rates))("the rate %j is read as %s", (given, value) => expect(parseRate(String(given))).toBe(value));
});
