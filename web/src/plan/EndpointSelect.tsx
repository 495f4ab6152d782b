/** Chooses an endpoint. Where there are more than a list to choose from holds, part of a name is typed first. */

import { NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { t } from "../i18n";
import { useFound, type Known } from "./found";

interface Props {
  mt?: "sm";
  label: string;
  value: string;
  known: Known;
  choose: (endpoint: string) => void;
}

export function EndpointSelect({ mt, label, value, known, choose }: Props) {
  const [find, setFind] = useState("");
  const found = useFound(find, known);
  const offered = found.map(({ id, online }) => ({ value: id, label: online ? id : t("browse.away", { id }), disabled: !online }));
  // What is chosen stays, whatever is typed after that.
  const kept = value === "" || found.some(({ id }) => id === value) ? [] : [{ value, label: value }];
  return (
    <>
      {known.more === true && (
        <TextInput {...(mt && { mt })} label={t("browse.find", { end: label })} placeholder={t("endpoints.find.placeholder")} value={find} onChange={(event) => setFind(event.currentTarget.value)} />
      )}
      <NativeSelect
        {...(mt && { mt })}
        label={label}
        value={value}
        data={[{ value: "", label: t("browse.choose") }, ...kept, ...offered]}
        onChange={(event) => choose(event.currentTarget.value)}
      />
    </>
  );
}
