import { getRouteApi } from "@tanstack/react-router";
import { PlanSection } from "../plan/PlanSection";
import { t } from "../i18n";
import { Page } from "../ui/basics";

const route = getRouteApi("/app/plans/$plan");

export function PlanPage() {
  const { plan } = route.useParams();
  return (
    <Page title={t("plan.page")} lead={plan}>
      <PlanSection plan={plan} />
    </Page>
  );
}
