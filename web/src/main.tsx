import "./styles.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onReturn } from "./api/connection";
import { ApiError, Unreachable } from "./api/problem";
import { queryClient } from "./api/query-client";
import { followSession } from "./api/session";
import { router } from "./router";
import { adoptTheme, theme } from "./theme";
import { Toasts } from "./ui/toasts";

adoptTheme();
followSession();
onReturn(() => {
  void queryClient.invalidateQueries();
  // A page that could not be loaded meanwhile is loaded again.
  void router.invalidate();
});
const root = document.getElementById("root");
if (root === null) throw new Error("the page has no #root");
createRoot(root, {
  // What the service refused, or that it is away, is told on the page; anything else is a fault of ours.
  onCaughtError: (error) => {
    if (!(error instanceof ApiError || error instanceof Unreachable)) console.error(error);
  },
}).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={localStorageColorSchemeManager({ key: "headrace-theme" })}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Toasts />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
