package dev.sluice.delta;

import java.io.IOException;

/** The store can't keep the commits of several drivers apart, and nothing was committed to it. */
public final class UnsafeStoreException extends IOException {

    private static final long serialVersionUID = 1L;

    UnsafeStoreException(String message) {
        super(message);
    }
}
