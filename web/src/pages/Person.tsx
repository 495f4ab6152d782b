import { useSuspenseQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { allTokensQuery, peopleQuery, sessionsOfQuery } from "../api/people-queries";
import { visible } from "../format/text";
import { t } from "../i18n";
import { Identities } from "../people/Identities";
import { PasskeysOf } from "../people/Passkeys";
import { Return } from "../people/Return";
import { Rights } from "../people/Rights";
import { Sessions } from "../people/Sessions";
import { TokenRows } from "../people/TokenRows";
import { Empty, Page, Stack } from "../ui/basics";

/** One person or service account, as administrators see them: rights, identities elsewhere, passkeys, sessions, tokens. */
export function Person() {
  const { person: id } = useParams({ from: "/app/people/$person" });
  const { data: people } = useSuspenseQuery(peopleQuery);
  const { data: sessions } = useSuspenseQuery(sessionsOfQuery(id));
  const { data: tokens } = useSuspenseQuery(allTokensQuery);
  const person = people.find((one) => one.id === id);
  if (person === undefined) return <Page title={t("person.nobody")}><Empty title={t("person.nobody.detail")} /></Page>;
  return (
    <Page title={visible(person.name)} lead={person.kind === "service" ? t("person.service") : t("person.lead")}>
      <Stack>
        <Rights key={`${person.granted_roles.join()} ${person.granted_groups.join()}`} person={person} />
        <Return person={person} />
        {person.kind === "person" && <Identities person={person} />}
        {person.kind === "person" && <PasskeysOf person={id} />}
        {person.kind === "person" && <Sessions sessions={sessions} person={id} />}
        <TokenRows title={t("nav.tokens")} tokens={tokens.filter((one) => one.person === id)} />
      </Stack>
    </Page>
  );
}
