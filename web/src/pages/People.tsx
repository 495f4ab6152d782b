import { Badge, Group, Table } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { answer, api } from "../api/client";
import { peopleQuery } from "../api/people-queries";
import { meQuery } from "../api/queries";
import type { Person } from "../api/schema";
import { t, tData } from "../i18n";
import { GroupMap } from "../people/GroupMap";
import { Invite } from "../people/Invite";
import { Reasoned } from "../transfers/Reasoned";
import { Listing } from "../ui/Listing";
import { useAsked } from "../ui/asked";
import { Act, Page, Time } from "../ui/basics";
import { whyNot } from "../ui/permissions";
import { toldApart } from "../ui/who";
import { PersonBadge } from "../ui/state";

export function People() {
  const { data: me } = useSuspenseQuery(meQuery);
  const { data: people } = useSuspenseQuery(peopleQuery);
  const blocked = whyNot(me, "people");
  const leaving = useAsked({
    act: ({ id }: Person) => answer(api.POST("/api/v1/people/{person}/disable", { params: { path: { person: id } } })),
    told: ({ name }) => t("people.disabled", { name }),
    changes: [peopleQuery.queryKey],
  });
  return (
    <Page title={t("nav.people")} lead={t("people.lead")} actions={<Invite blocked={blocked} />}>
      <Listing label={t("nav.people")} heads={[t("person.name"), t("transfers.state"), t("people.roles"), t("people.since"), t("nodes.actions")]}>
        {people.map((person) => (
          <Table.Tr key={person.id}>
            <Table.Td>
              <Link to="/people/$person" params={{ person: person.id }}>
                <strong>{toldApart(person, people)}</strong>
              </Link>
            </Table.Td>
            <Table.Td>
              <PersonBadge state={person.state} />
            </Table.Td>
            <Table.Td>
              <Group gap={4}>
                {person.roles.map((role) => (
                  <Badge key={role} color="gray">
                    {tData("role", role)}
                  </Badge>
                ))}
              </Group>
            </Table.Td>
            <Table.Td>
              <Time value={person.created} />
            </Table.Td>
            <Table.Td>
              <Act
                color="red"
                variant="outline"
                size="compact-xs"
                blocked={blocked ?? (person.id === me.id ? t("people.self") : person.state === "disabled" ? t("people.isDisabled") : null)}
                onClick={() => leaving.ask(person)}
              >
                {t("people.disable")}
              </Act>
            </Table.Td>
          </Table.Tr>
        ))}
      </Listing>
      {leaving.one !== null && (
        <Reasoned
          title={t("people.disable.one", { name: toldApart(leaving.one, people) })}
          detail={t("people.disable.detail")}
          verb={t("people.disable")}
          reason="none"
          {...leaving.dialog}
        />
      )}
      <GroupMap />
    </Page>
  );
}
