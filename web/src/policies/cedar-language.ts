/** Colours for Cedar text: comments, strings, annotations, keywords, numbers. */

import type { StreamParser } from "@codemirror/language";

const KEYWORDS = /^(?:permit|forbid|when|unless|principal|action|resource|context|in|is|has|like|if|then|else|true|false)\b/;

export const cedar: StreamParser<null> = {
  name: "cedar",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/\/.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^@\w+/)) return "annotation";
    if (stream.match(KEYWORDS)) return "keyword";
    if (stream.match(/^\d+/)) return "number";
    if (stream.match(/^\w+/)) return "variableName";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
};
