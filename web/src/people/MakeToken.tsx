import { Checkbox, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { tokensQuery } from "../api/people-queries";
import type { Me } from "../api/schema";
import { t, tData } from "../i18n";
import { Act, Failure, Time } from "../ui/basics";
import { useProof } from "../ui/proof";
import { ShownOnce } from "../ui/ShownOnce";

const VALID_S = 30 * 86_400;
/** What no token may hold: approving and administering need a person. */
const NEVER = ["transfer:approve", "admin"];

/** Make an API token with some of the person's own scopes; its secret is shown once. */
export function MakeToken({ me }: { me: Me }) {
  const client = useQueryClient();
  const scopes = me.scopes.filter((scope) => !NEVER.includes(scope));
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [agent, setAgent] = useState("");
  const [chosen, setChosen] = useState<string[]>(["transfer:read"]);
  const proof = useProof();
  const make = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/tokens", { body: { name, scopes: chosen, valid_s: VALID_S, agent: agent === "" ? null : agent, ...proof.take() } })),
    onSuccess: () => {
      proof.used();
      return client.invalidateQueries({ queryKey: tokensQuery.queryKey });
    },
  });
  const close = () => {
    setOpen(false);
    setName("");
    setAgent("");
    make.reset();
  };
  return (
    <>
      <Act onClick={() => setOpen(true)}>{t("tokens.make")}</Act>
      {open && (
        <ShownOnce
          title={t("tokens.make")}
          close={close}
          busy={make.isPending}
          made={make.data === undefined ? null : { label: t("tokens.secret"), text: make.data.secret ?? "", lead: <>{t("tokens.once")} <Time value={make.data.expires} />.</> }}
        >
          <form
            onSubmit={(event) => {
              event.preventDefault();
              make.mutate();
            }}
          >
            <TextInput data-autofocus label={t("tokens.name")} required maxLength={120} value={name} onChange={(event) => setName(event.currentTarget.value)} />
            <TextInput mt="sm" label={t("tokens.agent")} description={t("tokens.agent.detail")} maxLength={120} value={agent} onChange={(event) => setAgent(event.currentTarget.value)} />
            <Checkbox.Group mt="sm" label={t("tokens.scopes")} value={chosen} onChange={setChosen}>
              {scopes.map((scope) => (
                <Checkbox key={scope} mt={6} value={scope} label={scope} description={tData("scope", scope, "")} />
              ))}
            </Checkbox.Group>
            {make.isError && <Failure error={make.error} />}
            {proof.field(make.error, () => make.mutate())}
            <Act type="submit" mt="md" size="sm" loading={make.isPending} blocked={chosen.length === 0 ? t("tokens.needsScope") : null}>
              {t("tokens.make")}
            </Act>
          </form>
        </ShownOnce>
      )}
    </>
  );
}
