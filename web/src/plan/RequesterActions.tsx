/** What the person who asked can do with a plan: confirm what will be lost, ask for approval, start it. */

import { Checkbox, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, api } from "../api/client";
import { meQuery, planQuery } from "../api/queries";
import type { Plan } from "../api/schema";
import { t } from "../i18n";
import { useSuspenseQuery } from "@tanstack/react-query";
import { Act, Card, Copyable, Failure } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { tell } from "../ui/toasts";
import { losses } from "./Losses";

export function RequesterActions({ plan, stale }: { plan: Plan; stale: boolean }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const navigate = useNavigate();
  const client = useQueryClient();
  const start = useMutation({
    mutationFn: (digest: string) => answer(api.POST("/api/v1/transfers", { body: { plan_digest: digest } })),
    onSuccess: async (transfer) => {
      await client.invalidateQueries({ queryKey: ["transfers"] });
      tell(t("plan.started"));
      await navigate({ to: "/transfers/$transfer", params: { transfer: transfer.id } });
    },
  });
  const { digest, decision } = plan;
  if (plan.state !== "ready" || digest == null || decision == null || plan.transfer != null) return null;
  const given = plan.approvals.filter(({ verdict }) => verdict === "approved").length;
  const missing = decision.approvals_needed - given;
  const unconfirmed = mustConfirm(plan) && !plan.confirmed;
  const blocked =
    whyNot(me, "run") ??
    (stale ? t("plan.blocked.stale") : null) ??
    (unconfirmed ? t("plan.blocked.confirm") : missing > 0 ? t("plan.blocked.approve", { n: missing }) : null);
  return (
    <Card title={t("plan.next")}>
      {unconfirmed && !stale && <Confirm plan={plan} digest={digest} />}
      {missing > 0 && (
        <div>
          <Text>{t("plan.ask.approval")}</Text>
          <Copyable label={t("plan.link")} text={`${window.location.origin}/plans/${plan.id}`} />
        </div>
      )}
      {start.isError && <Failure error={start.error} />}
      <div>
        <Act blocked={blocked} size="sm" loading={start.isPending} onClick={() => start.mutate(digest)}>
          {t("plan.start")}
        </Act>
      </div>
    </Card>
  );
}

function mustConfirm(plan: Plan): boolean {
  return plan.decision?.outcome === "confirm" || (plan.decision?.outcome === "approve" && losses(plan).length > 0);
}

function Confirm({ plan, digest }: { plan: Plan; digest: string }) {
  const [read, setRead] = useState(false);
  const client = useQueryClient();
  const confirm = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/api/v1/plans/{plan}/confirmations", {
          params: { path: { plan: plan.id } },
          body: { digest, verdict: "confirmed" },
        }),
      ),
    onSuccess: (changed) => {
      client.setQueryData(planQuery(plan.id).queryKey, changed);
      tell(t("plan.confirmed"));
    },
  });
  const said = losses(plan);
  return (
    <>
      <Checkbox
        checked={read}
        onChange={(event) => setRead(event.currentTarget.checked)}
        label={said.length > 0 ? t("plan.confirm.losses", { losses: said.join(" ") }) : t("plan.confirm.plain")}
      />
      {confirm.isError && <Failure error={confirm.error} />}
      <div>
        <Act
          size="sm"
          color={said.length > 0 ? "red" : "water"}
          loading={confirm.isPending}
          blocked={read ? null : t("plan.blocked.read")}
          onClick={() => confirm.mutate()}
        >
          {t("plan.confirm")}
        </Act>
      </div>
    </>
  );
}
