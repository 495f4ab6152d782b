/** A new text of something that has versions: checked by the service, then proposed for somebody else to publish. */

import { Alert, Button, Group, Modal, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient, type QueryKey } from "@tanstack/react-query";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useBlocker } from "@tanstack/react-router";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { isLeaving } from "../api/session";
import type { PolicyVersion } from "../api/schema";
import { t } from "../i18n";
import type { Language } from "../policies/Editor";
import { Act, Card, Failure, Loading } from "../ui/basics";
import { tell } from "../ui/toasts";

const Editor = lazy(() => import("../policies/Editor"));

interface Props<C extends { valid: boolean }> {
  /** The version whose text is changed; none on a site without any. */
  base: PolicyVersion | undefined;
  active: PolicyVersion | undefined;
  editor: { label: string; language: Language };
  check: (text: string, note: string) => Promise<C>;
  /** What the service found, in words. */
  checked: (check: C, text: string) => ReactNode;
  /** More of the text than the editor shows; `edit` changes it. */
  beside?: (text: string, check: C | undefined, edit: (text: string) => void) => ReactNode;
  propose: (text: string, note: string) => Promise<PolicyVersion>;
  /** What is read anew afterwards. */
  changes: QueryKey;
  done: (version: string) => void;
  close: () => void;
}

export function Draft<C extends { valid: boolean }>({ base, active, editor, check: ask, checked, beside, propose: send, changes, done, close }: Props<C>) {
  const client = useQueryClient();
  // What was there when the text was opened: it does not change while it is edited.
  const [start] = useState(base?.text ?? "");
  const [text, setText] = useState(start);
  const [note, setNote] = useState("");
  const typed = text !== start || note !== "";
  const leaving = useBlocker({ shouldBlockFn: () => typed && !isLeaving(), enableBeforeUnload: () => typed && !isLeaving(), withResolver: true });
  const check = useMutation({ mutationFn: () => ask(text, note) });
  const propose = useMutation({
    mutationFn: () => send(text, note),
    onSuccess: async (made) => {
      await client.invalidateQueries({ queryKey: changes });
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
        <Editor label={editor.label} language={editor.language} text={text} onChange={edit} />
      </Suspense>
      <TextInput
        label={t("policies.note")}
        description={t("policies.note.detail")}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      {beside?.(text, check.data, edit)}
      {check.data !== undefined && checked(check.data, text)}
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
