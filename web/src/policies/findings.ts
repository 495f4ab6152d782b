/** Where in a text a problem is. Cedar counts UTF-8 bytes and numbers policies; editors count UTF-16 units, people read `@id`. */

export interface Finding {
  severity: "error" | "warning";
  rule: string | null;
  message: string;
  from: number;
  to: number;
}

export interface Marks {
  /** UTF-16 offset of a UTF-8 byte offset. */
  offset: (bytes: number) => number;
  /** `@id` of `policy0`, `policy1`, ... in the order of the text. */
  ruleName: (policy: string) => string;
  rule: (id: string) => { from: number; to: number } | null;
}

const ID = /@id\("([^"]*)"\)/g;

export function lineMarks(text: string): Marks {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const ids = [...text.matchAll(ID)].map((match) => ({ id: match[1] ?? "", from: match.index, to: match.index + match[0].length }));
  return {
    offset: (at) => decoder.decode(bytes.subarray(0, at)).length,
    ruleName: (policy) => {
      const number = /^policy(\d+)$/.exec(policy)?.[1];
      return (number === undefined ? undefined : ids[Number(number)]?.id) ?? policy;
    },
    rule: (id) => ids.find((one) => one.id === id) ?? null,
  };
}
