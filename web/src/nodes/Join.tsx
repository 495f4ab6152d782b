/** A one-time token with which a new node joins; shown once, with the lines to run on the other host. */

import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { t } from "../i18n";
import { Act, Failure, Time } from "../ui/basics";
import { useProof } from "../ui/proof";
import { ShownOnce } from "../ui/ShownOnce";

const VALID_S = 3600;

export function Join({ blocked }: { blocked: string | null }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const proof = useProof();
  const make = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/nodes/join-tokens", { body: { name, valid_s: VALID_S, ...proof.take() } })),
    onSuccess: proof.used,
  });
  const close = () => {
    setOpen(false);
    setName("");
    make.reset();
  };
  return (
    <>
      <Act blocked={blocked} onClick={() => setOpen(true)}>
        {t("join.open")}
      </Act>
      {open && (
        <ShownOnce
          title={t("join.title")}
          close={close}
          busy={make.isPending}
          made={make.data === undefined ? null : { label: t("join.commands"), text: make.data.commands.join("\n"), lead: <>{t("join.once")} <Time value={make.data.expires} />.</> }}
        >
          <form
            onSubmit={(event) => {
              event.preventDefault();
              make.mutate();
            }}
          >
            <TextInput data-autofocus label={t("join.name")} description={t("join.name.detail")} required maxLength={120} value={name} onChange={(event) => setName(event.currentTarget.value)} />
            {proof.field(make.error, () => make.mutate())}
            {make.isError && <Failure error={make.error} />}
            <Act type="submit" mt="sm" size="sm" loading={make.isPending}>
              {t("join.make")}
            </Act>
          </form>
        </ShownOnce>
      )}
    </>
  );
}
