import { TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, api } from "../api/client";
import { peopleQuery, sessionsQuery } from "../api/people-queries";
import type { Person } from "../api/schema";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Act, Card, Failure, Name, Stack, Time } from "../ui/basics";
import { Endable } from "../ui/Endable";
import { useProof } from "../ui/proof";
import { tell } from "../ui/toasts";

const LONGEST = 300;

/** Who a person is at issuers, and one more. */
export function Identities({ person }: { person: Person }) {
  const path = { person: person.id };
  return (
    <Stack>
      <Endable
        title={t("person.identities")}
        rows={person.identities}
        idOf={({ issuer, subject }) => `${issuer} ${subject}`}
        columns={[
          [t("person.issuer"), (one) => <Name>{one.issuer}</Name>],
          [t("person.subject"), (one) => <Name>{one.subject}</Name>],
          [t("person.name"), (one) => visible(one.name)],
          [t("person.groups"), (one) => one.groups.map(visible).join(", ")],
          [t("person.seen"), (one) => <Time value={one.seen} />],
        ]}
        words={{
          verb: t("person.unlink"),
          ask: ([one]) => t("person.unlink.one", { subject: visible(one?.subject ?? "") }),
          detail: t("person.unlink.detail"),
          told: t("person.unlinked"),
        }}
        end={({ issuer, subject }) => answer(api.POST("/api/v1/people/{person}/identities/remove", { params: { path }, body: { issuer, subject } }))}
        changes={[peopleQuery.queryKey, sessionsQuery.queryKey]}
        empty={t("person.identities.none")}
      />
      <Link person={person} />
    </Stack>
  );
}

function Link({ person }: { person: Person }) {
  const client = useQueryClient();
  const [issuer, setIssuer] = useState("");
  const [subject, setSubject] = useState("");
  const proof = useProof();
  const link = useMutation({
    mutationFn: () =>
      answer(api.POST("/api/v1/people/{person}/identities", { params: { path: { person: person.id } }, body: { issuer, subject, ...proof.take() } })),
    onSuccess: () => {
      proof.used();
      setSubject("");
      tell(t("person.linked"));
      return client.invalidateQueries({ queryKey: peopleQuery.queryKey });
    },
  });
  return (
    <Card title={t("person.link")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          link.mutate();
        }}
      >
        <TextInput label={t("person.issuer")} required maxLength={LONGEST} value={issuer} onChange={(event) => setIssuer(event.currentTarget.value)} />
        <TextInput mt="sm" label={t("person.subject")} description={t("person.link.detail")} required maxLength={LONGEST} value={subject} onChange={(event) => setSubject(event.currentTarget.value)} />
        {link.isError && <Failure error={link.error} />}
        {proof.field(link.error, () => link.mutate())}
        <Act type="submit" mt="md" size="sm" loading={link.isPending}>
          {t("person.link")}
        </Act>
      </form>
    </Card>
  );
}
