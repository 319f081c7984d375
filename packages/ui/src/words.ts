/** The texts of the toolkit. An app may set others, in another language, when it starts. */

/** Puts values into a text: `{name}` stands for the value `name`. */
export const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder)

const defaultWords = {
  language: "en",
  cancel: "Cancel",
  done: "Done",
  undo: "Undo",
  dismiss: "Dismiss",
  tryAgain: "Try again",
  loading: "Loading…",
  copy: "Copy",
  copyWhat: "Copy {what}",
  copyAll: "Copy all",
  copied: "Copied",
  copyFailed: "The browser does not allow copying here: select the text instead.",
  typeToConfirm: "Type {name} to confirm",
  share: "{used} of {max}",
  shareUsed: "{label}: {share} used",
  plotFailed: "The plot cannot be loaded: reload this page. The table has the numbers.",
  plotLabel: "{title}: the table below has the numbers",
  plotTable: "Show as a table",
  plotTableCaption: "{title}, as a table",
  plotFrom: "From (UTC)",
  noUsage: "There is no usage yet.",
  requestId: "Request id",
  unreachable: "The server cannot be reached",
  unreachableDetail: "Check that it runs and that you are connected. Nothing that you entered is lost.",
  responseFailed: "The server responded with status {status}",
  noDetail: "The response does not say why.",
  pageFailed: "Something went wrong on this page"
}

export type Words = { readonly [Name in keyof typeof defaultWords]: string }

export let words: Words = defaultWords

export const setWords = (value: Words): void => {
  words = value
}

/** Makes a format when it is first used: the language is set by then. */
export const makeOnce = <A extends object>(make: () => A): (() => A) => {
  let made: A | undefined
  return () => {
    made ??= make()
    return made
  }
}
