/** Colours for TOML text: comments, strings, headings of tables, keys, numbers, times. */

import type { StreamParser } from "@codemirror/language";

export const toml: StreamParser<null> = {
  name: "toml",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.sol() && stream.match(/^\[\[?[^\]]*\]\]?/)) return "keyword";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'[^']*'?/)) return "string";
    if (stream.match(/^[A-Za-z_][\w-]*(?=\s*=)/)) return "annotation";
    if (stream.match(/^(?:true|false)\b/)) return "keyword";
    if (stream.match(/^[-+]?\d[\d_:.TZ+-]*/)) return "number";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" } },
};
