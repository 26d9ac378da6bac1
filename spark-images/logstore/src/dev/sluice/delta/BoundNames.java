package dev.sluice.delta;

import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * Where the names lead that are bound to locations. A driver runs one job, so that this is for the whole JVM: no session
 * of it knows another place.
 *
 * <p>Names are looked up in lower case, as the job was judged by them.
 */
public final class BoundNames {

    private static final Map<String, String> LOCATIONS = new ConcurrentHashMap<>();

    private BoundNames() {}

    /** Binds a name with its catalog and its schema, such as {@code spark_catalog.sales.orders}. */
    public static void bind(String name, String location) {
        LOCATIONS.put(name.toLowerCase(Locale.ROOT), location);
    }

    /** Forgets all names. */
    public static void clear() {
        LOCATIONS.clear();
    }

    /** Returns null for a name that is bound to nothing. */
    static String locationOf(String catalog, Identifier table) {
        return LOCATIONS.get(key(catalog, table.namespace(), table.name()));
    }

    /** Whether a name that is bound lies in this schema. */
    static boolean hasSchema(String catalog, String[] namespace) {
        return namespace.length > 0 && schemas(catalog).contains(joined(Stream.of(namespace)));
    }

    /** The schemas of a catalog in which names are bound. */
    static Set<String> schemas(String catalog) {
        String begin = catalog.toLowerCase(Locale.ROOT) + ".";
        return LOCATIONS.keySet().stream()
                .filter(name -> name.startsWith(begin))
                .map(name -> name.substring(begin.length(), Math.max(begin.length(), name.lastIndexOf('.'))))
                .collect(Collectors.toSet());
    }

    private static String key(String catalog, String[] namespace, String name) {
        return joined(Stream.concat(Stream.concat(Stream.of(catalog), Stream.of(namespace)), Stream.of(name)));
    }

    private static String joined(Stream<String> parts) {
        return parts.collect(Collectors.joining(".")).toLowerCase(Locale.ROOT);
    }
}
