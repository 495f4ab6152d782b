import { useMutation, useQueryClient, useSuspenseQuery, type QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import { meQuery } from "../api/queries";
import type { PolicyVersion } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Reasoned } from "../transfers/Reasoned";
import { Act, Failure } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { useProof, type Given } from "../ui/proof";
import { tell } from "../ui/toasts";

interface Props {
  version: PolicyVersion;
  send: (version: string, proof: Given) => Promise<PolicyVersion>;
  withdraw: (version: string) => Promise<PolicyVersion>;
  /** What it does to what runs and waits. */
  effect: string;
  /** What is read anew afterwards. */
  changes: readonly QueryKey[];
}

/** Put a proposed version in force; or propose a retired one again, since going back takes two people, too. */
export function Publish({ version, send, withdraw, effect, changes }: Props) {
  const { data: me } = useSuspenseQuery(meQuery);
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const back = version.state === "retired";
  const verb = back ? t("policies.rollBack") : t("policies.publish");
  const proof = useProof();
  const publish = useMutation({
    mutationFn: () => send(version.version, proof.take()),
    onSuccess: async (made) => {
      proof.used();
      tell(made.state === "active" ? t("policies.published", { version: made.version.slice(0, 12) }) : t("policies.proposed"));
      setAsking(false);
      for (const queryKey of changes) await client.invalidateQueries({ queryKey });
    },
  });
  const takeBack = useMutation({
    mutationFn: () => withdraw(version.version),
    onSuccess: async () => {
      tell(t("policies.withdrawn"));
      for (const queryKey of changes) await client.invalidateQueries({ queryKey });
    },
  });
  // Nobody puts their own text in force.
  const own = version.state === "proposed" && (version.author === me.name || version.author === me.id);
  const against = version.against === "" ? (own ? t("policies.own") : null) : visible(version.against);
  const short = version.version.slice(0, 12);
  return (
    <>
      <Act blocked={whyNot(me, "policy") ?? against} onClick={() => setAsking(true)}>
        {verb}
      </Act>
      {own && (
        <Act blocked={whyNot(me, "policy")} variant="default" loading={takeBack.isPending} onClick={() => takeBack.mutate()}>
          {t("policies.withdraw")}
        </Act>
      )}
      {takeBack.isError && <Failure error={takeBack.error} />}
      {asking && (
        <Reasoned
          title={verb}
          detail={
            back
              ? t("policies.rollBack.detail", { version: short })
              : t("policies.publish.detail", { version: short, effect })
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
