export const BUNDLE: { configFile: false; logLevel: 'error'; root: string; tsconfig: string };
