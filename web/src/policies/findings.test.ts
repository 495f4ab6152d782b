import { expect, it } from "vitest";
import { lineMarks } from "./findings";

const TEXT = '// über\n@id("first")\npermit (principal, action, resource);\n@id("second") forbid (principal, action, resource);';

it("byte offsets become editor offsets, also after letters of several bytes", () => {
  const marks = lineMarks(TEXT);
  const bytes = new TextEncoder().encode(TEXT.slice(0, TEXT.indexOf("permit"))).length;
  expect(marks.offset(bytes)).toBe(TEXT.indexOf("permit"));
});

it("numbered policies get the names that people gave them", () => {
  const marks = lineMarks(TEXT);
  expect(marks.ruleName("policy1")).toBe("second");
  expect(marks.ruleName("policy9")).toBe("policy9");
  expect(marks.rule("first")?.from).toBe(TEXT.indexOf("@id"));
});
