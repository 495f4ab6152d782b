/** What a policy must allow and must deny, as a table, and a small form that adds one more. */

import { Button, Group, NativeSelect, Table, TextInput, Title } from "@mantine/core";
import { useState } from "react";
import { visible } from "../format/text";
import { t, tData } from "../i18n";
import classes from "../ui/Table.module.css";
import { Listing } from "../ui/Listing";
import { Empty } from "../ui/basics";
import { DecisionBadge } from "../ui/state";
import { examplesOf, OUTCOMES, withExample, type Example, type Outcome } from "./examples";

interface Props {
  text: string;
  /** Lines of the text whose examples do not hold. */
  broken?: ReadonlySet<number>;
  /** Absent: read only. Gets the text with one more example. */
  add?: (text: string) => void;
}

export function Examples({ text, broken, add }: Props) {
  const examples = examplesOf(text);
  return (
    <section className={classes.examples} aria-label={t("examples.title")}>
      <Title order={3}>{t("examples.title")}</Title>
      <p className={classes.second}>{t("examples.lead")}</p>
      {examples.length === 0 ? <Empty title={t("examples.none")}>{t("examples.none.detail")}</Empty> : <List examples={examples} broken={broken} />}
      {add !== undefined && <Add add={(outcome, fields) => add(withExample(text, outcome, fields))} />}
    </section>
  );
}

function List({ examples, broken }: { examples: readonly Example[]; broken: ReadonlySet<number> | undefined }) {
  return (
    <Listing part label={t("examples.list")} heads={[t("examples.must"), t("examples.action"), t("examples.differs"), t("examples.line")]}>
      {examples.map(({ outcome, action, differs, line }) => (
        <Table.Tr key={line}>
          <Table.Td>
            <DecisionBadge outcome={outcome} />
          </Table.Td>
          <Table.Td>{tData("action.name", action)}</Table.Td>
          <Table.Td>
            <div className={classes.details}>
              {differs.length === 0 && t("examples.plain")}
              {differs.map(([name, value]) => (
                <span key={name}>
                  <span className={classes.second}>{visible(name)}</span> {visible(value)}
                </span>
              ))}
            </div>
          </Table.Td>
          <Table.Td>
            {line} {broken?.has(line) === true && <strong>{t("examples.broken")}</strong>}
          </Table.Td>
        </Table.Tr>
      ))}
    </Listing>
  );
}

const ACTIONS = ["copy", "sync", "move", "browse"];
const ROLES = ["requester", "viewer", "approver", "operator", "none"];

function Add({ add }: { add: (outcome: Outcome, fields: Record<string, unknown>) => void }) {
  const [outcome, setOutcome] = useState<Outcome>("denied");
  const [action, setAction] = useState("copy");
  const [role, setRole] = useState("requester");
  const [destination, setDestination] = useState("");
  return (
    <Group gap="xs" align="end">
      <NativeSelect
        label={t("examples.must")}
        value={outcome}
        data={OUTCOMES.map((value) => ({ value, label: t(`decision.${value}`) }))}
        onChange={(event) => setOutcome(OUTCOMES.find((one) => one === event.currentTarget.value) ?? outcome)}
      />
      <NativeSelect label={t("examples.action")} value={action} data={ACTIONS.map((value) => ({ value, label: tData("action.name", value) }))} onChange={(event) => setAction(event.currentTarget.value)} />
      <NativeSelect label={t("examples.role")} value={role} data={ROLES.map((value) => ({ value, label: tData("role", value) }))} onChange={(event) => setRole(event.currentTarget.value)} />
      <TextInput label={t("examples.destination")} placeholder="archive:/2026" value={destination} onChange={(event) => setDestination(event.currentTarget.value)} />
      <Button
        variant="default"
        size="sm"
        onClick={() =>
          add(outcome, {
            action,
            ...(role === "requester" ? {} : { roles: role === "none" ? [] : [role] }),
            ...(destination.trim() === "" ? {} : { destination: destination.trim() }),
          })
        }
      >
        {t("examples.add")}
      </Button>
    </Group>
  );
}
