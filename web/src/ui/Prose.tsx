/** A sentence of the service: what it sets in backticks is shown as code, and nothing else in it is markup. */

import { Code } from "@mantine/core";
import { Fragment } from "react";
import { visible } from "../format/text";
import { byPages } from "../i18n/pages";

export function Prose({ children }: { children: string }) {
  const parts = visible(byPages(children)).split("`");
  // An unpaired backtick is only a character.
  if (parts.length % 2 === 0) return <>{parts.join("`")}</>;
  return parts.map((part, index) => (index % 2 === 1 ? <Code key={index}>{part}</Code> : <Fragment key={index}>{part}</Fragment>));
}
