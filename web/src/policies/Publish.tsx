import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { meQuery, policiesQuery } from "../api/queries";
import type { PolicyVersion } from "../api/schema";
import { t } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Act } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useProof } from "../ui/proof";
import { tell } from "../ui/toasts";

/** Put a proposed version in force; or propose a retired one again, since going back takes two people, too. */
export function Publish({ version, active }: { version: PolicyVersion; active: PolicyVersion | undefined }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const back = version.state === "retired";
  const verb = back ? t("policies.rollBack") : t("policies.publish");
  const proof = useProof();
  const publish = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/policies/{version}/publish", { params: { path: { version: version.version } }, body: proof.take() })),
    onSuccess: async (made) => {
      proof.used();
      tell(made.state === "active" ? t("policies.published", { version: made.version.slice(0, 12) }) : t("policies.proposed"));
      setAsking(false);
      await client.invalidateQueries({ queryKey: policiesQuery.queryKey });
    },
  });
  // Nobody puts their own text in force.
  const own = version.state === "proposed" && (version.author === me.name || version.author === me.id) ? t("policies.own") : null;
  const short = version.version.slice(0, 12);
  const overtaken = version.state === "proposed" && active?.published != null && active.published > version.created;
  return (
    <>
      <Act blocked={whyNot(me, "policy") ?? own} onClick={() => setAsking(true)}>
        {verb}
      </Act>
      {asking && (
        <Reasoned
          title={verb}
          detail={
            back
              ? t("policies.rollBack.detail", { version: short })
              : overtaken
                ? t("policies.publish.overtaken", { version: short, active: active.version.slice(0, 12) })
                : t("policies.publish.detail", { version: short })
          }
          verb={verb}
          danger={false}
          reason="none"
          pending={publish.isPending}
          error={publish.error}
          proof={proof.field(publish.error, () => publish.mutate())}
          close={() => setAsking(false)}
          go={() => publish.mutate()}
        />
      )}
    </>
  );
}
