import { expect, it } from "vitest";
import { ownTuning, tuningRows } from "./tuning";

it("says what is set and where, and nothing of what nodes choose", () => {
  expect(tuningRows({})).toEqual([]);
  expect(tuningRows({ streams: { value: 8, level: "pair" }, unit_bytes: { value: 2 ** 18, level: "site" } })).toEqual([
    ["Streams", "8, set for these two endpoints"],
    ["Unit of large files", "256 KiB, set for the site"],
  ]);
  expect(tuningRows({ streams: null, unit_bytes: { value: 2 ** 24, level: "transfer" } })).toEqual([["Unit of large files", "16 MiB, set for this transfer"]]);
});

it("takes for asked what was set for the transfer itself, and not what its endpoints or the site set", () => {
  expect(ownTuning({ streams: { value: 4, level: "transfer" }, unit_bytes: { value: 2 ** 24, level: "site" } })).toEqual({ streams: 4, unit_bytes: null });
  expect(ownTuning({ streams: { value: 4, level: "pair" } })).toBeNull();
});
