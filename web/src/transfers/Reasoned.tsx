/** A question before something is done: what will happen, and a reason that is kept. */

import { Modal, Text, Textarea } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { t } from "../i18n";
import { Act, Failure } from "../ui/basics";

interface Props {
  title: string;
  detail: string;
  verb: string;
  danger?: boolean;
  reason?: "asked" | "optional" | "none";
  pending: boolean;
  error: unknown;
  /** Where a proof that this is the person is given, if the service wants one. */
  proof?: ReactNode;
  close: () => void;
  go: (reason: string) => void;
}

export function Reasoned({ title, detail, verb, danger = true, reason: wants = "asked", pending, error, proof, close, go }: Props) {
  const [reason, setReason] = useState("");
  const blocked = wants === "asked" && reason.trim() === "" ? t("reason.needed") : null;
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ "aria-label": t("action.close") }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (blocked === null) go(reason.trim());
        }}
      >
        <Text mb="sm">{detail}</Text>
        {wants !== "none" && (
          <Textarea
            data-autofocus
            label={t(wants === "asked" ? "reason.label" : "reason.optional")}
            maxLength={500}
            value={reason}
            autosize
            mb="sm"
            onChange={(event) => setReason(event.currentTarget.value)}
          />
        )}
        {error != null && <Failure error={error} />}
        {proof}
        <Act type="submit" mt="sm" size="sm" color={danger ? "red" : "water"} blocked={blocked} loading={pending}>
          {verb}
        </Act>
      </form>
    </Modal>
  );
}
