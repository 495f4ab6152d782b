/** Text from outside, fit to be shown: the rule is the same in every language of the project (conformance/text). */

import table from "../../../conformance/text/characters.json";

function oneOf(ranges: string): string {
  const points = ranges.replace(/[0-9A-F]+/g, (point) => `\\u{${point}}`);
  return `[${points.replaceAll(" ", "")}]`;
}

const MARK = oneOf(table.marks);
const UNSEEN = new RegExp(`${oneOf(table.unseen)}|(?<=${MARK}{${table.max_marks.toString()}})${MARK}`, "gu");

/** Write every character that hides, steers or turns text around as `\u{202E}`; the service has escaped bytes that are not text already. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}}`);
}
