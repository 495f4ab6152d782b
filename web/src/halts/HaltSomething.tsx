/** Halt something: choose what, name it, say why. */

import { Modal, NativeSelect, Text, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { haltsQuery, healthQuery } from "../api/queries";
import type { HaltRequest } from "../api/schema";
import { t, tData } from "../i18n";
import { Act, Failure } from "../ui/basics";
import { tell } from "../ui/toasts";

type Scope = HaltRequest["scope"];
const SCOPES: Record<Scope, true> = { transfer: true, person: true, agent: true, endpoint: true, node: true, everything: true };
const isScope = (value: string): value is Scope => value in SCOPES;

export function HaltSomething({ blocked }: { blocked: string | null }) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [scope, setScope] = useState<Scope>("endpoint");
  const [subject, setSubject] = useState("");
  const [reason, setReason] = useState("");
  const halt = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/site/halt", { body: { scope, subject: scope === "everything" ? "" : subject.trim(), reason: reason.trim() } })),
    onSuccess: async () => {
      tell(t("halts.done"));
      close();
      await client.invalidateQueries({ queryKey: haltsQuery.queryKey });
      await client.invalidateQueries({ queryKey: healthQuery.queryKey });
    },
  });
  const close = () => {
    setOpen(false);
    setSubject("");
    setReason("");
    halt.reset();
  };
  const missing = scope !== "everything" && subject.trim() === "" ? t("halts.needsSubject") : reason.trim() === "" ? t("halts.needsReason") : null;
  return (
    <>
      <Act color="red" blocked={blocked} onClick={() => setOpen(true)}>
        {t("halts.open")}
      </Act>
      {open && (
        <Modal opened onClose={close} title={t("halts.open")} closeButtonProps={{ "aria-label": t("action.close") }}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (missing === null) halt.mutate();
            }}
          >
            <Text mb="sm">{t("halts.detail")}</Text>
            <NativeSelect
              data-autofocus
              label={t("halts.what")}
              value={scope}
              data={Object.keys(SCOPES).map((value) => ({ value, label: tData("halts.scope", value) }))}
              onChange={({ currentTarget: { value } }) => {
                if (isScope(value)) setScope(value);
              }}
            />
            {scope !== "everything" && (
              <TextInput mt="sm" label={t("halts.subject")} description={tData("halts.subject", scope)} maxLength={120} value={subject} onChange={(event) => setSubject(event.currentTarget.value)} />
            )}
            <Textarea mt="sm" label={t("reason.label")} description={t("halts.reason.detail")} maxLength={500} autosize value={reason} onChange={(event) => setReason(event.currentTarget.value)} />
            {halt.isError && <Failure error={halt.error} />}
            <Act type="submit" mt="md" size="sm" color="red" blocked={missing} loading={halt.isPending}>
              {t("halts.go")}
            </Act>
          </form>
        </Modal>
      )}
    </>
  );
}
