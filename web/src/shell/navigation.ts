/** The rooms of the console, in the order of the menu and the palette. */

import {
  IconArrowsTransferUp,
  IconChecklist,
  IconClipboardList,
  IconFileCertificate,
  IconGauge,
  IconGavel,
  IconHandStop,
  IconKey,
  IconPlus,
  IconServer2,
  IconUsers,
  type Icon,
} from "@tabler/icons-react";
import type { PlainKey } from "../i18n";
import type { Ability } from "../ui/permissions";

export interface Room {
  to: "/new" | "/transfers" | "/requests" | "/approvals" | "/policies" | "/qos" | "/endpoints" | "/halts" | "/audit" | "/people" | "/tokens";
  label: PlainKey;
  icon: Icon;
  needs: Ability | null;
}

export const ROOMS: readonly Room[] = [
  { to: "/new", label: "nav.new", icon: IconPlus, needs: "plan" },
  { to: "/transfers", label: "nav.transfers", icon: IconArrowsTransferUp, needs: null },
  { to: "/requests", label: "nav.requests", icon: IconClipboardList, needs: "plan" },
  { to: "/approvals", label: "nav.approvals", icon: IconChecklist, needs: "approve" },
  { to: "/endpoints", label: "nav.endpoints", icon: IconServer2, needs: null },
  { to: "/halts", label: "nav.halts", icon: IconHandStop, needs: "halts" },
  { to: "/policies", label: "nav.policies", icon: IconGavel, needs: null },
  { to: "/qos", label: "quality.title", icon: IconGauge, needs: null },
  { to: "/audit", label: "nav.audit", icon: IconFileCertificate, needs: "audit" },
  { to: "/people", label: "nav.people", icon: IconUsers, needs: "people" },
  { to: "/tokens", label: "nav.tokens", icon: IconKey, needs: null },
];
