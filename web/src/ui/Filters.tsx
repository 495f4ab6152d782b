/** What narrows a list: words, and the days between which something was asked for. The address holds both. */

import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import type { ListFilter } from "../api/queries";
import { t } from "../i18n";

const FIND_MS = 250;

interface Props {
  filter: ListFilter;
  placeholder: string;
  /** Change this part of the filter, and no other: words that rested and a day may come at the same time, each before the page knows of the other.
   * `typed` while words are typed: the places in between are not worth going back to. */
  go: (changed: ListFilter, typed: boolean) => void;
}

export function Filters({ filter, placeholder, go }: Props) {
  const { find, since, until } = filter;
  return (
    <>
      <Find label={t("filter.find")} find={find ?? ""} placeholder={placeholder} go={(next) => go({ find: next || undefined }, true)} />
      <TextInput
        type="date"
        label={t("filter.since")}
        value={since ?? ""}
        max={until}
        onChange={(event) => go({ since: event.currentTarget.value || undefined }, false)}
      />
      <TextInput
        type="date"
        label={t("filter.until")}
        value={until ?? ""}
        min={since}
        onChange={(event) => go({ until: event.currentTarget.value || undefined }, false)}
      />
    </>
  );
}

/** What is typed shows at once; the address, and with it the list, follows when typing rests. */
export function Find({ label, find, placeholder, go }: { label: string; find: string; placeholder: string; go: (find: string) => void }) {
  const [text, setText] = useState(find);
  const [seen, setSeen] = useState(find);
  const later = useDebouncedCallback(go, FIND_MS);
  if (find !== seen) {
    setSeen(find);
    // The address changed by something else than this field.
    if (!text.startsWith(find) || find === "") setText(find);
  }
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
    />
  );
}
