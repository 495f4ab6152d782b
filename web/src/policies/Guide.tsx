/** Rules for what sites need most often: a form in a dialog whose rules and examples go into the text. */

import { Alert, Button, Group, Modal, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { answer, api } from "../api/client";
import type { GuidedRules, PolicyNeed } from "../api/schema";
import { visible } from "../format/text";
import { t, tData } from "../i18n";
import { Failure, Loading } from "../ui/basics";
import { policyNeedsQuery } from "./needs";

interface Props {
  text: string;
  /** Gets the text with the rules. */
  add: (text: string) => void;
}

export function Guide({ text, add }: Props) {
  const [open, setOpen] = useState(false);
  // What the rules that were added last contradict: it stays below the button, as the dialog is gone.
  const [contradicts, setContradicts] = useState<readonly string[]>([]);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const added = (made: GuidedRules) => {
    add(`${text.trimEnd()}\n\n${made.text}`);
    setContradicts(made.contradicts);
    setWarnings(made.warnings);
    setOpen(false);
  };
  return (
    <>
      <Group>
        <Button variant="default" onClick={() => setOpen(true)}>
          {t("guide.open")}
        </Button>
      </Group>
      {contradicts.length > 0 && (
        <Alert color="yellow" role="status" icon={<IconAlertTriangle aria-hidden />} title={t("guide.contradicts")}>
          <ul>
            {contradicts.map((line) => (
              <li key={line}>
                <code>{visible(line)}</code>
              </li>
            ))}
          </ul>
        </Alert>
      )}
      {warnings.length > 0 && (
        <Alert color="yellow" role="status" icon={<IconAlertTriangle aria-hidden />} title={t("guide.warnings")}>
          <ul>
            {warnings.map((line) => (
              <li key={line}>{visible(line)}</li>
            ))}
          </ul>
        </Alert>
      )}
      <Modal opened={open} onClose={() => setOpen(false)} title={t("guide.title")} closeButtonProps={{ "aria-label": t("action.close") }}>
        <Form text={text} added={added} />
      </Modal>
    </>
  );
}

function Form({ text, added }: { text: string; added: (made: GuidedRules) => void }) {
  const needs = useQuery(policyNeedsQuery);
  const [chosen, setChosen] = useState("");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const need = needs.data?.find(({ name }) => name === chosen) ?? needs.data?.[0];
  const make = useMutation({
    mutationFn: ({ name, asks }: PolicyNeed) => {
      const given = Object.fromEntries(asks.map((one) => [one.name, values[one.name] ?? ""]));
      return answer(api.POST("/api/v1/policies/guide", { body: { need: name, values: given, text } }));
    },
    onSuccess: added,
  });
  if (needs.isError) return <Failure error={needs.error} />;
  if (need === undefined) return <Loading />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate(need);
      }}
    >
      <NativeSelect
        label={t("guide.need")}
        data={(needs.data ?? []).map(({ name, title }) => ({ value: name, label: title }))}
        value={need.name}
        onChange={(event) => {
          setChosen(event.currentTarget.value);
          make.reset();
        }}
      />
      {need.asks.map(({ name, question, example }) => (
        <TextInput
          key={name}
          required
          label={tData("guide.value", name)}
          description={question}
          placeholder={example}
          maxLength={5000}
          value={values[name] ?? ""}
          onChange={(event) => {
            const value = event.currentTarget.value;
            setValues((before) => ({ ...before, [name]: value }));
          }}
        />
      ))}
      {make.isError && <Failure error={make.error} />}
      <Group gap="xs" mt="sm">
        <Button type="submit" loading={make.isPending}>
          {t("guide.add")}
        </Button>
      </Group>
    </form>
  );
}
