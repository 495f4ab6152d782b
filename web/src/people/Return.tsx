import { Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { peopleQuery } from "../api/people-queries";
import type { Person } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Act, Card, Failure, Time } from "../ui/basics";
import { useProof } from "../ui/proof";
import { ShownOnce } from "../ui/ShownOnce";
import { tell } from "../ui/toasts";

/** The way back in: a new one-time link for who signs in here, a word of an administrator for everybody else. */
export function Return({ person }: { person: Person }) {
  const elsewhere = person.kind === "service" || person.identities.length > 0;
  return (
    <>
      {person.state === "disabled" && elsewhere && <Enable person={person} />}
      {person.kind === "person" && person.identities.length === 0 && <NewLink person={person} />}
    </>
  );
}

function Enable({ person }: { person: Person }) {
  const client = useQueryClient();
  const proof = useProof();
  const enable = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/people/{person}/enable", { params: { path: { person: person.id } }, body: proof.take() })),
    onSuccess: () => {
      proof.used();
      tell(t("person.enabled", { name: visible(person.name) }));
      return client.invalidateQueries({ queryKey: peopleQuery.queryKey });
    },
  });
  return (
    <Card title={t("person.enable")}>
      <Text size="sm">{t("person.enable.detail")}</Text>
      {enable.isError && <Failure error={enable.error} />}
      {proof.field(enable.error, () => enable.mutate())}
      <Act mt="md" size="sm" loading={enable.isPending} onClick={() => enable.mutate()}>
        {t("person.enable")}
      </Act>
    </Card>
  );
}

function NewLink({ person }: { person: Person }) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const proof = useProof();
  const invite = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/people/{person}/invitations", { params: { path: { person: person.id } }, body: proof.take() })),
    onSuccess: () => {
      proof.used();
      return client.invalidateQueries({ queryKey: peopleQuery.queryKey });
    },
  });
  const close = () => {
    setOpen(false);
    invite.reset();
  };
  return (
    <Card title={t("person.newLink")}>
      <Text size="sm">{t("person.newLink.detail")}</Text>
      <Act mt="md" size="sm" onClick={() => setOpen(true)}>
        {t("invite.make")}
      </Act>
      {open && (
        <ShownOnce
          title={t("person.newLink")}
          close={close}
          busy={invite.isPending}
          made={invite.data === undefined ? null : { label: t("invite.link"), text: invite.data.link, lead: <>{t("invite.once", { name: invite.data.name })} <Time value={invite.data.expires} />.</> }}
        >
          {invite.isError && <Failure error={invite.error} />}
          {proof.field(invite.error, () => invite.mutate())}
          <Act mt="md" size="sm" loading={invite.isPending} onClick={() => invite.mutate()}>
            {t("invite.make")}
          </Act>
        </ShownOnce>
      )}
    </Card>
  );
}
