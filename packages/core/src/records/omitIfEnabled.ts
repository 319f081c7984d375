/** What a patch changes so that `disabled: false` is not stored. */
export const omitIfEnabled = ({ disabled }: { readonly disabled?: boolean | null | undefined }) =>
  disabled === false ? { disabled: null } : {}
