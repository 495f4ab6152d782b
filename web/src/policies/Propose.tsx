/** A new policy text: linted while it is typed, checked by the service with its examples, then proposed for somebody else to publish. */

import { Alert, Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";
import { answer, api } from "../api/client";
import { policiesQuery } from "../api/queries";
import type { PolicyCheck } from "../api/schema";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import { Act, Card, Failure, Loading } from "../ui/basics";
import { tell } from "../ui/toasts";
import { Examples } from "./Examples";

const Editor = lazy(() => import("./Editor"));

export function Propose({ start, done, close }: { start: string; done: (version: string) => void; close: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(start);
  // The editor keeps what is typed; what is put in from outside starts it anew.
  const [given, setGiven] = useState(start);
  const [note, setNote] = useState("");
  const check = useMutation({ mutationFn: () => answer(api.POST("/api/v1/policies/check", { body: { text, note } })) });
  const propose = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/policies", { body: { text, note } })),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: policiesQuery.queryKey });
      tell(t("policies.proposed"));
      done(made.version);
    },
  });
  const edit = (next: string) => {
    setText(next);
    check.reset();
  };
  const blocked = check.data?.valid === true ? (note.trim() === "" ? t("policies.needsNote") : null) : t("policies.needsCheck");
  return (
    <Card title={t("policies.new")}>
      <Suspense fallback={<Loading />}>
        <Editor key={given} label={t("policies.editor")} text={given} onChange={edit} />
      </Suspense>
      <TextInput
        label={t("policies.note")}
        description={t("policies.note.detail")}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Examples
        text={text}
        broken={brokenLines(check.data, text)}
        add={(longer) => {
          setGiven(longer);
          edit(longer);
        }}
      />
      {check.data !== undefined && <Checked check={check.data} text={text} />}
      {check.isError && <Failure error={check.error} />}
      {propose.isError && <Failure error={propose.error} />}
      <Group gap="xs">
        <Button variant="default" loading={check.isPending} onClick={() => check.mutate()}>
          {t("policies.check")}
        </Button>
        <Act blocked={blocked} loading={propose.isPending} onClick={() => propose.mutate()}>
          {t("policies.propose")}
        </Act>
        <Button variant="subtle" onClick={close}>
          {t("action.close")}
        </Button>
      </Group>
    </Card>
  );
}

function Checked({ check, text }: { check: PolicyCheck; text: string }) {
  const problems = check.problems.map(({ message, rule, start }) => ({
    message: visible(message),
    rule: rule ?? null,
    line: start == null ? null : lineOf(text, start),
  }));
  return (
    <Alert
      role="status"
      color={check.valid ? "green" : "red"}
      icon={check.valid ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
      title={check.valid ? t("policies.valid", { rules: tn("count.rules", check.rules.length) }) : t("policies.invalid")}
    >
      <ul>
        {problems.map(({ message, rule, line }) => (
          <li key={`${message}${rule ?? ""}`}>
            {rule !== null && <strong>{visible(rule)}: </strong>}
            {line !== null && <>{t("policies.line", { line })} </>}
            {message}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

/** The service counts code points. */
function lineOf(text: string, start: number): number {
  return Array.from(text).slice(0, start).join("").split("\n").length;
}

function brokenLines(check: PolicyCheck | undefined, text: string): ReadonlySet<number> {
  return new Set(check?.problems.flatMap(({ start }) => (start == null ? [] : [lineOf(text, start)])));
}
