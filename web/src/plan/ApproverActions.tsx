/** Another person's yes or no to exactly this plan. */

import { Alert, Checkbox, Text, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { planQuery } from "../api/queries";
import type { Approval, Plan } from "../api/schema";
import { t } from "../i18n";
import { Act, Card, Failure } from "../ui/basics";
import { refusal } from "../ui/permissions";
import { useProof } from "../ui/proof";
import { Prose } from "../ui/Prose";
import { tell } from "../ui/toasts";
import { losses } from "./Losses";

export function ApproverActions({ plan }: { plan: Plan }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [read, setRead] = useState(false);
  const proof = useProof();
  const say = useMutation({
    mutationFn: (verdict: Approval["verdict"]) => {
      if (plan.digest == null) throw new Error(t("approval.unsealed"));
      return answer(
        api.POST("/api/v1/plans/{plan}/approvals", {
          params: { path: { plan: plan.id } },
          body: { digest: plan.digest, verdict, reason, ...proof.take() },
        }),
      );
    },
    onSuccess: async (changed, verdict) => {
      proof.used();
      tell(t(verdict === "approved" ? "approval.approved" : "approval.refused"));
      client.setQueryData(planQuery(plan.id).queryKey, changed);
      await client.invalidateQueries({ queryKey: ["plans"] });
    },
  });
  const said = losses(plan);
  const unread = said.length > 0 && !read ? t("plan.blocked.read") : null;
  const needsReason = reason.trim() === "" ? t("approval.needsReason") : null;
  return (
    <Card title={t("approval.title")}>
      <Text>
        <Prose>{plan.next_step.message}</Prose>
      </Text>
      {say.data !== undefined && say.variables === "approved" && (
        <Alert color="green" role="status" title={t("approval.done")}>
          {t("approval.done.next")}{" "}
          {say.data.transfer == null ? (
            <Link to="/transfers">{t("nav.transfers")}</Link>
          ) : (
            <Link to="/transfers/$transfer" params={{ transfer: say.data.transfer }}>
              {t("approval.done.transfer")}
            </Link>
          )}
        </Alert>
      )}
      {said.length > 0 && (
        <Checkbox checked={read} onChange={(event) => setRead(event.currentTarget.checked)} label={t("approval.read", { losses: said.join(" ") })} />
      )}
      <Textarea
        label={t("approval.reason")}
        description={t("approval.reason.detail")}
        value={reason}
        maxLength={500}
        autosize
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {say.isError && <Failure error={say.error} />}
      {proof.field(say.error, () => say.mutate("approved"))}
      <div>
        <Act size="sm" blocked={refusal(plan, "approve") ?? unread} loading={say.isPending} onClick={() => say.mutate("approved")}>
          {t("action.approve")}
        </Act>{" "}
        <Act size="sm" color="red" variant="outline" blocked={refusal(plan, "refuse") ?? needsReason} loading={say.isPending} onClick={() => say.mutate("refused")}>
          {t("action.refuse")}
        </Act>
      </div>
    </Card>
  );
}
