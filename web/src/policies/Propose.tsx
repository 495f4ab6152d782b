/** A new policy text: linted while it is typed, checked by the service with its examples, then proposed for somebody else to publish. */

import { Alert, Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { useBlocker } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { answer, api } from "../api/client";
import { policiesQuery } from "../api/queries";
import { isLeaving } from "../api/session";
import type { PolicyCheck, PolicyVersion } from "../api/schema";
import { visible } from "../format/text";
import { t, tn } from "../i18n";
import { Act, Card, Failure, Loading } from "../ui/basics";
import { tell } from "../ui/toasts";
import { Examples } from "./Examples";

const Editor = lazy(() => import("./Editor"));

interface Props {
  /** The version whose text is changed; none on a site without any. */
  base: PolicyVersion | undefined;
  active: PolicyVersion | undefined;
  done: (version: string) => void;
  close: () => void;
}

export function Propose({ base, active, done, close }: Props) {
  const client = useQueryClient();
  // What was there when the text was opened: it does not change while it is edited.
  const [start] = useState(base?.text ?? "");
  const [text, setText] = useState(start);
  const [note, setNote] = useState("");
  const typed = text !== start || note !== "";
  const leaving = useBlocker({ shouldBlockFn: () => typed && !isLeaving(), enableBeforeUnload: () => typed && !isLeaving(), withResolver: true });
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
      {base !== undefined && active !== undefined && base.version !== active.version && (
        <Alert color="yellow" icon={<IconAlertTriangle aria-hidden />} title={t("policies.base", { base: base.version.slice(0, 12), active: active.version.slice(0, 12) })}>
          {t("policies.base.detail", { active: active.version.slice(0, 12) })}
        </Alert>
      )}
      <Suspense fallback={<Loading />}>
        <Editor label={t("policies.editor")} text={text} onChange={edit} />
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
        add={edit}
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
      {leaving.status === "blocked" && <Leave stay={leaving.reset} go={leaving.proceed} />}
    </Card>
  );
}

function Leave({ stay, go }: { stay: () => void; go: () => void }) {
  return (
    <Modal opened onClose={stay} title={t("policies.leave")} closeButtonProps={{ "aria-label": t("policies.leave.stay") }}>
      <Text mb="sm">{t("policies.leave.detail")}</Text>
      <Group gap="xs">
        <Button data-autofocus size="sm" onClick={stay}>
          {t("policies.leave.stay")}
        </Button>
        <Button size="sm" color="red" variant="outline" onClick={go}>
          {t("policies.leave.go")}
        </Button>
      </Group>
    </Modal>
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
