import { describe, expect, it } from "vitest";
import { answered, pieces } from "./reading";

const span = (start: number, end: number, slot: string) => ({ start, end, text: "", slot, reading: slot });

describe("pieces of a reading", () => {
  it("together they are the text, whatever its characters", () => {
    const text = "copy 😀 krios1:/ü to archive:/x";
    const found = pieces(text, [span(0, 4, "action"), span(7, 16, "source")]);
    expect(found.map((piece) => piece.text).join("")).toBe(text);
    expect(found.map((piece) => piece.span?.slot ?? null)).toEqual(["action", null, "source", null]);
    expect(found[2]?.text).toBe("krios1:/ü");
  });
  it("spans that overlap or lie outside are left out", () => {
    expect(pieces("abc", [span(0, 2, "a"), span(1, 3, "b"), span(2, 9, "c")]).map(({ text }) => text)).toEqual(["ab", "c"]);
  });
});

describe("an answer", () => {
  const question = { slot: "destination", message: "which?", words: "archvie", choices: [] };
  it("takes the place of the words that were asked about", () => {
    expect(answered("copy a:/x to archvie:/y", question, "archive")).toBe("copy a:/x to archive:/y");
  });
  it("goes to the end with its cue when nothing was there", () => {
    expect(answered("copy a:/x ", { ...question, words: null }, "b:/y")).toBe("copy a:/x to b:/y");
    expect(answered("a:/x to b:/y", { ...question, slot: "action", words: null }, "copy")).toBe("copy a:/x to b:/y");
  });
  it("is put in literally", () => {
    expect(answered("to archvie", question, "$& $1")).toBe("to $& $1");
  });
});
