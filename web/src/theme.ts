/** Colours, sizes and the style sheet made from them. The sheet is adopted, not inserted, so that the content security policy can refuse every inline style. */

import {
  Badge,
  Button,
  convertCssVariables,
  createTheme,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
  Modal,
  Table,
  Text,
  TextInput,
  Tooltip,
  type CSSVariablesResolver,
} from "@mantine/core";

export const theme = createTheme({
  primaryColor: "water",
  primaryShade: { light: 7, dark: 8 },
  autoContrast: false,
  colors: {
    water: ["#e6f6fb", "#d3e9f2", "#a6d2e4", "#75b9d6", "#4ea5ca", "#3598c3", "#1b86b3", "#0b6e99", "#0a6086", "#06506f"],
    dark: ["#d8dee4", "#b9c2cb", "#8995a1", "#65717d", "#36404a", "#2a3239", "#20272d", "#181d22", "#12171b", "#0c1013"],
  },
  defaultRadius: "sm",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: "650", sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1.0625rem" }, h3: { fontSize: "0.9375rem" } } },
  components: {
    Button: Button.extend({ defaultProps: { size: "xs" } }),
    // Scroll locking inserts a style element, which the policy refuses; the page behind is inert anyway.
    // Its head is none of the page: it would be a second banner.
    Modal: Modal.extend({ defaultProps: { lockScroll: false, centered: true, attributes: { header: { role: "presentation" } } } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 6, horizontalSpacing: "sm" } }),
    TextInput: TextInput.extend({ defaultProps: { size: "sm" } }),
    Tooltip: Tooltip.extend({ defaultProps: { withArrow: true, multiline: true, maw: 320, events: { hover: true, focus: true, touch: true } } }),
    Badge: Badge.extend({ defaultProps: { variant: "light", tt: "none", fw: 600, miw: "max-content" } }),
    Text: Text.extend({ defaultProps: { size: "sm" } }),
  },
});

/** Where the defaults do not reach the contrast of WCAG AA. */
const resolver: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#545c65",
    "--mantine-color-placeholder": "#6b737c",
    "--mantine-color-error": "#c22525",
    "--mantine-color-anchor": "#0a6086",
    "--mantine-color-red-filled": "#c92a2a",
    "--mantine-color-red-light-color": "#a51d1d",
    "--mantine-color-red-outline": "#c22525",
    "--mantine-color-green-light-color": "#1e6a2d",
    "--mantine-color-yellow-light-color": "#7a4a00",
    "--mantine-color-orange-light-color": "#8f3d05",
    "--mantine-color-gray-light-color": "#3d444b",
    "--mantine-color-water-light-color": "#06506f",
    "--mantine-color-violet-light-color": "#5a33b8",
    "--mantine-color-teal-light-color": "#07604a",
    "--mantine-color-default-border": "#d5dbe0",
    "--headrace-ground": "#f4f6f8",
    "--headrace-raised": "#ffffff",
  },
  dark: {
    "--mantine-color-body": "#15191d",
    "--mantine-color-text": "#d8dee4",
    "--mantine-color-dimmed": "#9aa5b0",
    "--mantine-color-placeholder": "#8995a1",
    "--mantine-color-error": "#ff8f8f",
    "--mantine-color-anchor": "#75b9d6",
    "--mantine-color-red-filled": "#c92a2a",
    "--mantine-color-default": "#1c2227",
    "--mantine-color-default-hover": "#242b31",
    "--mantine-color-default-border": "#36404a",
    "--mantine-color-red-light-color": "#ffa8a8",
    "--mantine-color-red-outline": "#ff8f8f",
    "--mantine-color-green-light-color": "#8ce99a",
    "--mantine-color-yellow-light-color": "#ffe066",
    "--mantine-color-orange-light-color": "#ffc078",
    "--mantine-color-gray-light-color": "#ced4da",
    "--mantine-color-water-light-color": "#a6d2e4",
    "--mantine-color-violet-light-color": "#c5b3ff",
    "--mantine-color-teal-light-color": "#96f2d7",
    "--headrace-ground": "#101418",
    "--headrace-raised": "#181d22",
  },
});

export function adoptTheme(): void {
  const merged = mergeMantineTheme(DEFAULT_THEME, theme);
  const base = defaultCssVariablesResolver(merged);
  const ours = resolver(merged);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(
    convertCssVariables(
      {
        variables: { ...base.variables, ...ours.variables },
        light: { ...base.light, ...ours.light },
        dark: { ...base.dark, ...ours.dark },
      },
      ":root",
    ),
  );
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}
