import { describe, expect, it } from "vitest";
import { answered, meaning, pieces } from "./reading";

const span = (start: number, end: number, slot: string) => ({ start, end, text: "", slot, reading: slot });

describe("pieces of a reading", () => {
  it("together they are the text, whatever its characters", () => {
    const text = "copy 😀 krios1:/ü to archive:/x";
    const found = pieces(text, [span(0, 4, "action"), span(7, 16, "source")]);
    expect(found.map((piece) => piece.text).join("")).toBe(text);
    expect(found.map((piece) => piece.spans.map(({ slot }) => slot).join())).toEqual(["action", "", "source", ""]);
    expect(found[2]?.text).toBe("krios1:/ü");
  });
  it("spans that overlap or lie outside are left out", () => {
    expect(pieces("abc", [span(0, 2, "a"), span(1, 3, "b"), span(2, 9, "c")]).map(({ text }) => text)).toEqual(["ab", "c"]);
  });
});

it("one phrase may fill several slots, and little words none", () => {
  const found = pieces("last night, please", [span(0, 10, "modified_after"), span(0, 10, "modified_before"), span(10, 11, "-")]);
  expect(found.map(({ text, spans }) => [text, spans.length])).toEqual([
    ["last night", 2],
    [", please", 0],
  ]);
});

it("a comma before a phrase is no part of it", () => {
  const found = pieces("sync a:/, delete extra", [span(8, 22, "delete_extraneous")]);
  expect(found.map(({ text, spans }) => [text, spans.length])).toEqual([
    ["sync a:/, ", 0],
    ["delete extra", 1],
  ]);
  expect(meaning({ ...span(0, 1, "delete_extraneous"), reading: "yes" }, "utc", { delete_extraneous: "yes" })).toBe("");
});

it("numbers and times are shown with their units and zone", () => {
  const read = (slot: string, reading: string) => meaning({ ...span(0, 1, slot), reading }, "utc", { [slot]: reading });
  expect(read("rate_limit_bps", "3000000000")).toBe("3.00 Gb/s");
  expect(read("deadline", "2026-11-26T06:00:00-06:00")).toBe("2026-11-26 12:00:00 UTC");
  expect(read("on_conflict", "skip")).toBe("leave it as it is");
});

it("a rule's own name is never shown as a value, and words of no slot are plain", () => {
  expect(meaning({ ...span(0, 4, "rate_limit_bps"), reading: "vague rate" }, "utc", {})).toBe("");
  expect(pieces("into", [{ ...span(0, 4, "cue"), reading: "cue: where to" }])).toEqual([{ text: "into", start: 0, spans: [] }]);
});

describe("an answer", () => {
  const question = { slot: "destination", message: "which?", words: "archvie", choices: [] };
  it("takes the place of the words that were asked about", () => {
    expect(answered("copy a:/x to archvie:/y", question, "archive")).toBe("copy a:/x to archive:/y");
  });
  it("keeps the cue of the words that it replaces", () => {
    const asked = { ...question, words: "to archvie:/x" };
    expect(answered("copy a:/x to archvie:/x now", asked, "archive:/x")).toBe("copy a:/x to archive:/x now");
    expect(answered("copy a:/x to archvie:/x now", asked, "into archive:/x")).toBe("copy a:/x into archive:/x now");
    const rate = { slot: "rate_limit_bps", message: "", words: "no faster than 3 gigs", choices: [] };
    expect(answered("copy a:/x to b:/y no faster than 3 gigs", rate, "3 Gb/s")).toBe("copy a:/x to b:/y no faster than 3 Gb/s");
  });
  it("goes to the end with its cue when nothing was there", () => {
    expect(answered("copy a:/x ", { ...question, words: null }, "b:/y")).toBe("copy a:/x to b:/y");
    expect(answered("a:/x to b:/y", { ...question, slot: "action", words: null }, "copy")).toBe("copy a:/x to b:/y");
  });
  it("is put in literally", () => {
    expect(answered("to archvie", question, "$& $1")).toBe("to $& $1");
  });
  it("takes the place of the whole request, if that is what is asked about", () => {
    const text = "at last, the tea is up. copy a:/x to b:/y";
    expect(answered(text, { ...question, slot: "action", words: text, start: 0, end: text.length }, "copy a:/x to b:/y")).toBe("copy a:/x to b:/y");
  });
  it("takes the place of the words that are meant, not of the same words elsewhere", () => {
    const second = { ...question, words: "with", start: 18, end: 22 };
    expect(answered("sync 📦:/with a:/b with *.tmp", second, "without")).toBe("sync 📦:/with a:/b without *.tmp");
    expect(answered("sync a:/b with *.tmp", second, "without")).toBe("sync a:/b without *.tmp");
  });
});
