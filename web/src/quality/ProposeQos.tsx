/** A new text of links, classes and calendars: checked by the service, then proposed for somebody else to publish. */

import { Alert } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { answer, api } from "../api/client";
import type { QosCheck, QosVersion } from "../api/schema";
import { t } from "../i18n";
import { Prose } from "../ui/Prose";
import { Draft } from "../versions/Draft";
import { qosVersionsQuery } from "./queries";

interface Props {
  base: QosVersion | undefined;
  active: QosVersion | undefined;
  done: (version: string) => void;
  close: () => void;
}

export function ProposeQos(props: Props) {
  return (
    <Draft
      {...props}
      editor={{ label: t("quality.editor"), language: "toml" }}
      check={(text, note) => answer(api.POST("/api/v1/qos/check", { body: { text, note } }))}
      checked={(check) => <Checked check={check} />}
      propose={(text, note) => answer(api.POST("/api/v1/qos/versions", { body: { text, note } }))}
      changes={qosVersionsQuery.queryKey}
    />
  );
}

function Checked({ check: { valid, problems, warnings } }: { check: QosCheck }) {
  return (
    <Alert
      role="status"
      color={valid ? "green" : "red"}
      icon={valid ? <IconCheck aria-hidden /> : <IconAlertTriangle aria-hidden />}
      title={valid ? t("quality.valid") : t("policies.invalid")}
    >
      <ul>
        {[...problems, ...warnings].map(({ where, message }, index) => (
          <li key={index}>
            {where !== "" && (
              <strong>
                <Prose>{where}</Prose>:{" "}
              </strong>
            )}
            <Prose>{message}</Prose>
          </li>
        ))}
      </ul>
    </Alert>
  );
}
