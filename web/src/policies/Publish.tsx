import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { meQuery, policiesQuery } from "../api/queries";
import type { PolicyVersion } from "../api/schema";
import { t } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Act } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { tell } from "../ui/toasts";

/** Put a proposed version in force, or go back to a retired one. */
export function Publish({ version, active }: { version: PolicyVersion; active: PolicyVersion | undefined }) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const verb = version.state === "retired" ? t("policies.rollBack") : t("policies.publish");
  const publish = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/policies/{version}/publish", { params: { path: { version: version.version } } })),
    onSuccess: async () => {
      tell(t("policies.published", { version: version.version.slice(0, 12) }));
      setAsking(false);
      await client.invalidateQueries({ queryKey: policiesQuery.queryKey });
    },
  });
  // Nobody puts their own text in force, an old one of theirs neither.
  const own = version.author === me.name || version.author === me.id ? t("policies.own") : null;
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
            overtaken
              ? t("policies.publish.overtaken", { version: short, active: active.version.slice(0, 12) })
              : t("policies.publish.detail", { version: short })
          }
          verb={verb}
          danger={false}
          reason="none"
          pending={publish.isPending}
          error={publish.error}
          close={() => setAsking(false)}
          go={() => publish.mutate()}
        />
      )}
    </>
  );
}
