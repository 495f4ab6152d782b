/** Another person's yes or no to exactly this plan. */

import { Textarea } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { meQuery } from "../api/queries";
import type { Approval, Plan } from "../api/schema";
import { t } from "../i18n";
import { Act, Card, Failure } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { tell } from "../ui/toasts";

export function ApproverActions({ plan }: { plan: Plan }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const say = useMutation({
    mutationFn: (verdict: Approval["verdict"]) => {
      if (plan.digest == null) throw new Error(t("approval.unsealed"));
      return answer(
        api.POST("/api/v1/plans/{plan}/approvals", {
          params: { path: { plan: plan.id } },
          body: { digest: plan.digest, verdict, reason },
        }),
      );
    },
    onSuccess: async (_, verdict) => {
      tell(t(verdict === "approved" ? "approval.approved" : "approval.refused"));
      await client.invalidateQueries({ queryKey: ["plans"] });
      await client.invalidateQueries({ queryKey: ["plan", plan.id] });
    },
  });
  const blocked = whyNot(me, "approve") ?? (plan.requester === me.name || plan.requester === me.id ? t("approval.own") : null);
  const needsReason = blocked ?? (reason.trim() === "" ? t("approval.needsReason") : null);
  return (
    <Card title={t("approval.title")}>
      <Textarea
        label={t("approval.reason")}
        description={t("approval.reason.detail")}
        value={reason}
        maxLength={1000}
        autosize
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {say.isError && <Failure error={say.error} />}
      <div>
        <Act size="sm" blocked={blocked} loading={say.isPending} onClick={() => say.mutate("approved")}>
          {t("action.approve")}
        </Act>{" "}
        <Act size="sm" color="red" variant="outline" blocked={needsReason} loading={say.isPending} onClick={() => say.mutate("refused")}>
          {t("action.refuse")}
        </Act>
      </div>
    </Card>
  );
}
